// A semantic lock as people and programs see it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skald/json.h"
#include "skald/lock_mode.h"

namespace skald {

struct LockView {
  struct Waiting {
    std::string saga_id;
    Time since{};
  };
  std::string resource, key, saga_id, saga_type, step;
  LockMode mode = LockMode::exclusive;
  Time since{};
  std::vector<Waiting> waiting;     // the first hundred, in their order
  std::int64_t waiting_count = 0;   // all of them
};
BOOST_DESCRIBE_STRUCT(LockView::Waiting, (), (saga_id, since))
BOOST_DESCRIBE_STRUCT(LockView, (), (resource, key, saga_id, saga_type, step, mode, since, waiting, waiting_count))

struct LockFilter {
  // Where a lock stands in the list: those who share one are several.
  struct Position {
    std::string resource, key, saga_id;
  };
  std::optional<std::string> resource, key, saga_id;
  std::optional<Position> after;
  std::size_t limit = 50;
};

}  // namespace skald
