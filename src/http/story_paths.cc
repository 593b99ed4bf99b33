#include "http/story_paths.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "http/target.h"

namespace skald::http {
namespace {

constexpr std::size_t kNameBytesMax = 200;
constexpr std::size_t kNamesMax = 16;

[[noreturn]] void refuse_unknown() {
  throw NotFound("STORY_NOT_FOUND", "nothing is known under this key; is it written as the service shows it?");
}

// Asks everybody for every name that turns up: a booking's number leads to its id, and that
// to what the other services know.
Story gather(const std::vector<StorySource>& sources, const std::string& key) {
  Story out{.key = key, .names = {}, .owner = {}, .lines = {}};
  std::vector<std::string> names = {key};
  for (std::size_t next = 0; next < names.size(); ++next) {
    const std::string name = names[next];
    for (const StorySource& source : sources) {
      Story part = source(name);
      std::ranges::move(part.lines, std::back_inserter(out.lines));
      if (!out.owner) out.owner = std::move(part.owner);
      for (std::string& other : part.names)
        if (names.size() < kNamesMax && std::ranges::find(names, other) == names.end())
          names.push_back(std::move(other));
    }
  }
  out.names = std::move(names);
  return out;
}

bool is_engines(const StoryLine& line) {
  return line.source == "outbox" || line.source == "inbox" || line.source == "saga";
}

// What one transaction does may have one time: an event is handled, which changes something,
// which is told.
int rank(const StoryLine& line) {
  return line.source == "inbox" ? 0 : !is_engines(line) ? 1 : line.source == "outbox" ? 2 : 3;
}

// Each line once: a saga is found by its id and by its key.
void put_in_order(std::vector<OfService<StoryLine>>& lines) {
  std::set<std::string> seen;
  std::erase_if(lines, [&](const auto& line) { return !seen.insert(to_json(line)).second; });
  std::vector<std::tuple<Time, int, std::size_t>> order;
  for (std::size_t i = 0; i < lines.size(); ++i) order.emplace_back(lines[i].at, rank(lines[i]), i);
  std::ranges::sort(order);
  std::vector<OfService<StoryLine>> out;
  for (const auto& place : order) out.push_back(std::move(lines[std::get<std::size_t>(place)]));
  lines = std::move(out);
}

Response tell(const std::vector<StorySource>& sources, const Request& request) {
  const std::string& key = request.param("key");
  if (key.size() > kNameBytesMax) refuse_unknown();
  Story story = gather(sources, key);
  if (story.lines.empty() && !story.owner) refuse_unknown();
  if (request.caller.role == Role::customer) {
    if (!story.owner || !request.caller.may_see(*story.owner)) refuse_unknown();
    for (auto& line : story.lines)
      if (is_engines(line)) line.detail.reset();
  }
  put_in_order(story.lines);
  return Response::json(200, story);
}

}  // namespace

StorySource story_of(const ServiceEngine& engine) {
  return [of = engine](const std::string& name) {
    StoryPart part = ask(of, [&](Engine& asked) {
      return asked.database().read_result([&](Transaction& tx) { return asked.story(tx, name); });
    });
    Story out{.key = name, .names = std::move(part.names), .owner = std::move(part.owner), .lines = {}};
    for (StoryLine& line : part.lines) out.lines.push_back({std::move(line), of.service});
    return out;
  };
}

StorySource story_of(std::string service, std::function<Response(const Request&)> ask) {
  return [service = std::move(service), ask = std::move(ask)](const std::string& name) {
    Request request;
    request.method = "GET";
    request.path = "/api/story/" + encode_segment(name);
    request.caller = {.role = Role::system, .subject = "story"};
    const Response answer = ask(request);
    if (answer.status == 404) return Story{.key = name, .names = {}, .owner = {}, .lines = {}};
    if (answer.status != 200) throw Unavailable("STORY_INCOMPLETE", service + " could not tell its part; try again");
    return from_json<Story>(answer.body);
  };
}

void add_story_path(Routes& routes, std::vector<StorySource> sources) {
  routes.get("/api/story/{key}", Access::customer,
             describe<void, Story>("Everything that happened to one business key, in order"),
             [sources = std::move(sources)](const Request& request) { return tell(sources, request); });
}

}  // namespace skald::http
