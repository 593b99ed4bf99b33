#include "http/story_paths.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "http/target.h"
#include "skald/lenient_json.h"

namespace skald::http {
namespace {

constexpr std::size_t kNameBytesMax = 200;
constexpr std::size_t kNamesMax = 16;

[[noreturn]] void refuse_unknown() {
  throw NotFound("STORY_NOT_FOUND", "nothing is known under this key; is it written as the service shows it?");
}

// A part, and the name under which it was found.
struct Found {
  std::string name;
  ToldPart part;
};

struct Gathered {
  std::vector<std::string> names;
  std::vector<Found> parts;
};

// Asks everybody for every name that turns up: a booking's number leads to its id, and that
// to what the other services know. A customer is not led on by what is another's.
Gathered gather(const std::vector<StorySource>& sources, const std::string& key, const Caller& caller) {
  Gathered out{.names = {key}, .parts = {}};
  for (std::size_t next = 0; next < out.names.size(); ++next) {
    const std::string name = out.names[next];
    for (const StorySource& source : sources) {
      for (ToldPart& part : source(name)) {
        const bool leads_on = !part.owner || caller.may_see(*part.owner);
        for (const std::string& other : part.names)
          if (leads_on && out.names.size() < kNamesMax && std::ranges::find(out.names, other) == out.names.end())
            out.names.push_back(other);
        out.parts.push_back({name, std::move(part)});
      }
    }
  }
  return out;
}

// Whose what is found under a name is, by those who made the name. Nobody's where they disagree.
std::map<std::string, std::optional<std::string>> owners_of_names(const Gathered& gathered) {
  std::map<std::string, std::optional<std::string>> out;
  for (const Found& found : gathered.parts) {
    if (!found.part.owner) continue;
    for (const std::string& name : found.part.names) {
      const auto [known, first] = out.emplace(name, found.part.owner);
      if (!first && known->second != found.part.owner) known->second.reset();
    }
  }
  return out;
}

// A part that does not know whose it is belongs to the owner of its name.
void find_owners(Gathered& gathered) {
  const auto owners = owners_of_names(gathered);
  for (Found& found : gathered.parts)
    if (const auto owner = owners.find(found.name); !found.part.owner && owner != owners.end())
      found.part.owner = owner->second;
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

std::vector<ToldPart> own_parts(const std::vector<StorySource>& sources, const std::string& name) {
  std::vector<ToldPart> out;
  for (const StorySource& source : sources) std::ranges::move(source(name), std::back_inserter(out));
  return out;
}

Story assemble(Gathered gathered, const std::string& key, const Caller& caller) {
  const bool staff = caller.role != Role::customer;
  std::set<std::string> names{key}, owners;
  Story story{.key = key, .names = {}, .owner = {}, .lines = {}, .parts = {}};
  for (auto& [name, part] : gathered.parts) {
    if (!staff && part.owner != caller.subject) continue;
    if (part.lines.empty()) continue;
    names.insert(name);
    if (part.owner) names.insert(part.names.begin(), part.names.end());
    if (part.owner) owners.insert(*part.owner);
    for (StoryLine& line : part.lines) {
      if (!staff && is_engines(line)) line.detail.reset();
      story.lines.push_back({std::move(line), part.service});
    }
  }
  for (const std::string& name : gathered.names)
    if (staff || names.contains(name)) story.names.push_back(name);
  if (owners.size() == 1) story.owner = *owners.begin();
  put_in_order(story.lines);
  return story;
}

Response tell(const std::vector<StorySource>& sources, const Request& request) {
  const std::string& key = request.param("key");
  if (key.size() > kNameBytesMax) refuse_unknown();
  if (request.query_value("parts")) {
    Authenticator::admit(request.caller, Access::admin);
    return Response::json(200,
                          Story{.key = key, .names = {}, .owner = {}, .lines = {}, .parts = own_parts(sources, key)});
  }
  Gathered gathered = gather(sources, key, request.caller);
  find_owners(gathered);
  const Story story = assemble(std::move(gathered), key, request.caller);
  if (story.lines.empty()) refuse_unknown();
  return Response::json(200, story);
}

}  // namespace

StorySource story_of(const ServiceEngine& engine) {
  return [of = engine](const std::string& name) {
    auto parts = ask(of, [&](Engine& asked) {
      return asked.database().read_result([&](Transaction& tx) { return asked.story(tx, name); });
    });
    std::vector<ToldPart> out;
    for (StoryPart& part : parts)
      out.push_back({of.service, std::move(part.names), std::move(part.owner), std::move(part.lines)});
    return out;
  };
}

StorySource story_of(std::string service, std::function<Response(const Request&)> ask) {
  return [service = std::move(service), ask = std::move(ask)](const std::string& name) -> std::vector<ToldPart> {
    Request request;
    request.method = "GET";
    request.path = "/api/story/" + encode_segment(name);
    request.query["parts"] = "true";
    request.caller = {.role = Role::system, .subject = "story"};
    const Response answer = ask(request);
    const auto refuse = [&](const std::string& why) -> std::vector<ToldPart> {
      throw Unavailable("STORY_INCOMPLETE", service + " could not tell its part" + why);
    };
    // A process of a version before says all of it as one part, or that there is nothing.
    if (answer.status == 404) return {};
    if (answer.status != 200) return refuse("; try again");
    auto told = from_lenient_json<Story>(answer.body).parts;
    return told ? std::move(*told) : refuse(": it runs an older version");
  };
}

void add_story_path(Routes& routes, std::vector<StorySource> sources) {
  routes.get("/api/story/{key}", Access::customer,
             describe<void, Story>("Everything that happened to one business key, in order; customers: their parts",
                                   200, {"parts"}),
             [sources = std::move(sources)](const Request& request) { return tell(sources, request); });
}

}  // namespace skald::http
