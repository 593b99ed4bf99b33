// Everything that happened to one business key, in order: what an engine knows of it, and
// what a service adds from tables of its own.
//
//   engine.tell([](Transaction& tx, std::string_view name) { … return StoryPart{…}; });
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/database.h"
#include "skald/json.h"

namespace skald {

struct StoryLine {
  Time at{};
  std::string source;                 // outbox, inbox, saga, or a service's own: history, ledger, …
  std::string what;
  std::string id;                     // of the event, the saga or the record that says so
  std::optional<std::string> detail;  // for staff, where the source is the engine
};
BOOST_DESCRIBE_STRUCT(StoryLine, (), (at, source, what, id, detail))

// What is known under one name of the key.
struct StoryPart {
  std::vector<std::string> names;     // others of the same: a booking's id, for its number
  std::optional<std::string> owner;   // the customer whose it is; only who knows it says so
  std::vector<StoryLine> lines;
};

// Reads only. An unknown name has an empty part.
using Storyteller = std::function<StoryPart(Transaction& tx, const std::string& name)>;

}  // namespace skald
