// GET /api/history: what sagas read and wrote, where it is recorded. The order of commits is
// each database's own, so are the rows: what is of one service is a history by itself.
#include <charconv>

#include "http/engine_paths.h"

namespace skald::http {
namespace {

// The cursor is a commit's place; a page has all operations of its commits.
struct Commit {
  std::int64_t at = 0;
  std::vector<checker::Operation> operations;
};
BOOST_DESCRIBE_STRUCT(Commit, (), (at, operations))

std::int64_t place_of(const Position& position) {
  const std::string& text = position[0];
  std::int64_t place = 0;
  if (text.empty()) return place;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), place);
  if (error != std::errc() || end != text.data() + text.size() || place < 0)
    throw Invalid("BAD_CURSOR", "cursor is not one that this list has given; start again without it");
  return place;
}

std::vector<Commit> commits_of(Engine& engine, const Request&, const Position& after, std::size_t limit) {
  const std::int64_t place = place_of(after);
  std::vector<Commit> out;
  auto operations =
      engine.database().read_result([&](Transaction& tx) { return engine.sagas().history(tx, place, limit); });
  for (checker::Operation& operation : operations) {
    if (out.empty() || out.back().at != operation.at) out.push_back({operation.at, {}});
    out.back().operations.push_back(std::move(operation));
  }
  return out;
}

Listing<OfService<checker::Operation>> flattened(Listing<OfService<Commit>> commits) {
  Listing<OfService<checker::Operation>> out{{}, std::move(commits.next_cursor)};
  for (auto& commit : commits.items)
    for (checker::Operation& operation : commit.operations) out.items.push_back({std::move(operation), commit.service});
  return out;
}

}  // namespace

void add_history_paths(Routes& routes, const Engines& engines) {
  const EngineList<Commit> commits{
      .rows = commits_of, .position = [](const Commit& commit) { return Position{std::to_string(commit.at)}; }};
  routes.get(
      "/api/history", Access::admin,
      describe<void, Listing<OfService<checker::Operation>>>(
          "What sagas read and wrote, in the order of commits of each service, for skald check", 200, {"service"}),
      [engines, commits](const Request& request) {
        return Response::json(200, flattened(list_page(engines, request, commits)));
      });
}

}  // namespace skald::http
