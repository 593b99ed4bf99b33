// A saga as the analyser sees it: its stages in a row, children's steps in place.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "skald/analyser.h"

namespace skald::analyser {

using Definitions = std::vector<std::reference_wrapper<const saga::Definition>>;

struct Touch {
  std::string resource;
  bool write = false;
  Guard guard = Guard::none;
};

struct Lock {
  std::string resource;
  std::optional<LockMode> mode;  // none: the state decides
};

struct Stage {
  std::string name;
  bool local = true;
  bool apart = true;             // never shares a transaction with the stage before it
  bool certain = true;           // never left out
  bool pivot = false;
  bool exposed = false;          // is undone after others may have seen what it wrote
  bool stays = false;            // before the pivot, and nothing undoes it
  std::size_t undone_until = 0;  // where exposed: the last stage whose failure undoes it
  std::vector<Touch> touches;
  std::vector<Lock> locks;
};

struct Outline {
  std::string name;
  std::vector<Stage> stages;

  // The lock that the saga has for sure when it comes to a stage.
  std::optional<LockMode> held(const std::string& resource, std::size_t stage) const;
  // Whether these stages usually share one transaction.
  bool together(std::size_t first, std::size_t last) const;
  // Whether it calls, waits or sleeps behind the first, up to the last.
  bool long_work(std::size_t first, std::size_t last) const;
  Place place(std::size_t stage) const { return {name, stages[stage].name}; }
};

// One for each definition that is no other's child.
std::vector<Outline> outlines_of(const Definitions& definitions);

// One touch of a saga, by its stage.
struct Spot {
  const Outline* saga;
  std::size_t stage;
  const Touch* touch;

  const Stage& where() const { return saga->stages[stage]; }
  Place place() const { return saga->place(stage); }
};
std::vector<Spot> spots_of(const Outline& saga, const std::string& resource);
// Whether semantic locks keep the two apart.
bool excluded(const Outline& a, std::size_t at_a, const Outline& b, std::size_t at_b, const std::string& resource);

// What the rules find for A in the role of the one who suffers it.
std::vector<Finding> find_anomalies(const Outline& a, const Outline& b, const std::string& resource);
std::vector<Finding> find_lock_orders(const Outline& a, const Outline& b);
// From the uncovered dirty reads among `findings`, and from the sagas themselves.
std::vector<Finding> find_step_orders(const std::vector<Outline>& sagas, const std::vector<Finding>& findings);

}  // namespace skald::analyser
