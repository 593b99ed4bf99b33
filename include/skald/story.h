// Everything that happened to one business key, in order: what an engine knows of it, and
// what a service adds from tables of its own.
//
//   engine.tell([](Transaction& tx, const std::string& name) { … return std::vector{StoryPart{…}}; });
//
// A story has parts, and each part is somebody's. A customer is told the parts that are his own.
// The name under which a part is found says nothing of whose it is: a client may have chosen it.
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
//
// A service that knows whose a record is says so in `owner`, and lists in `names` what it has named
// itself by ids of its own making: a booking's id and number. What others know under these names and
// cannot tell whose it is (an engine's events and sagas, seats, notifications) is that owner's, too.
// So a name that a client chose must never stand in `names`.
struct StoryPart {
  std::vector<std::string> names;
  std::optional<std::string> owner;
  std::vector<StoryLine> lines;
};

// Reads only. An unknown name has no parts; one that several clients chose has several.
using Storyteller = std::function<std::vector<StoryPart>(Transaction& tx, const std::string& name)>;

}  // namespace skald
