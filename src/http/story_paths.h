// GET /api/story/{key}: everything that happened to one business key, across services.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "http/engines.h"
#include "skald/story.h"

namespace skald::http {

struct Story {
  std::string key;
  std::vector<std::string> names;    // that it has in the services
  std::optional<std::string> owner;
  std::vector<OfService<StoryLine>> lines;
};
BOOST_DESCRIBE_STRUCT(Story, (), (key, names, owner, lines))

// Who knows a part of it: an engine of this process, or another process. Throws Unavailable.
using StorySource = std::function<Story(const std::string& name)>;
StorySource story_of(const ServiceEngine& engine);
// By asking a process for its GET /api/story/{key}.
StorySource story_of(std::string service, std::function<Response(const Request&)> ask);

// Customers are told of what is theirs, and without the engine's details; what is another's
// is as unknown to them as what is not there.
void add_story_path(Routes& routes, std::vector<StorySource> sources);

}  // namespace skald::http
