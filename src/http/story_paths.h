// GET /api/story/{key}: everything that happened to one business key, across services.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "http/engines.h"
#include "skald/story.h"

namespace skald::http {

// What one service knows under one name.
struct ToldPart {
  std::string service;
  std::vector<std::string> names;
  std::optional<std::string> owner;
  std::vector<StoryLine> lines;
};
BOOST_DESCRIBE_STRUCT(ToldPart, (), (service, names, owner, lines))

struct Story {
  std::string key;
  std::vector<std::string> names;    // that it has in the services
  std::optional<std::string> owner;  // where all of it is one customer's
  std::vector<OfService<StoryLine>> lines;
  // Only where they are asked for, by another process of ours: its own parts under this one name.
  std::optional<std::vector<ToldPart>> parts;
};
BOOST_DESCRIBE_STRUCT(Story, (), (key, names, owner, lines, parts))

// Who knows parts of it: an engine of this process, or another process. Throws Unavailable.
using StorySource = std::function<std::vector<ToldPart>(const std::string& name)>;
StorySource story_of(const ServiceEngine& engine);
// By asking a process for its GET /api/story/{key}?parts=true.
StorySource story_of(std::string service, std::function<Response(const Request&)> ask);

// Customers are told the parts that are theirs (skald/story.h says whose a part is), and those
// without the engine's details; what is another's is as unknown to them as what is not there.
void add_story_path(Routes& routes, std::vector<StorySource> sources);

}  // namespace skald::http
