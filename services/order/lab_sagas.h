// The sagas A and B of a story in the lab, as the engine runs them. Each holds the lab's
// product alone, by a semantic lock, from its first step until its story ends it; who
// comes second stands in the lock's queue and is granted the lock by the transaction that
// ends the first. Nothing of that is played here: where the engine's locks are broken,
// so is the story.
#pragma once

#include <map>
#include <string>

#include "skald/engine.h"
#include "skald/optimistic.h"
#include "skald/saga.h"

namespace order {

struct LabWork {
  std::string product;
};
BOOST_DESCRIBE_STRUCT(LabWork, (), (product))

// The saga order.lab. It ends by itself where its story forgets it.
skald::Saga<LabWork> lab_saga();

class LabSagas {
 public:
  // `engine`, which knows `saga`, and what `env` refers to must outlive it.
  LabSagas(skald::Engine& engine, const skald::Saga<LabWork>& saga, skald::Env env, skald::Pause pause,
           std::string product);
  // Ends those that a broken story has left.
  ~LabSagas();
  LabSagas(const LabSagas&) = delete;
  LabSagas& operator=(const LabSagas&) = delete;

  // Begins it where it has not begun. True: it holds the product; false: it waits.
  bool enter(const std::string& name);
  // Ends it. Corrupt (LAB_SAGA_STUCK) where it does not end.
  void leave(const std::string& name);

 private:
  void signal(const std::string& id);
  bool has_ended(const std::string& id);

  skald::Engine& engine_;
  const skald::Saga<LabWork>& saga_;
  const skald::Env env_;
  const skald::Pause pause_;
  const std::string product_;
  std::map<std::string, std::string> ids_;  // by name
};

}  // namespace order
