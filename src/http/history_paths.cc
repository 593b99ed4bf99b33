// GET /api/history: what sagas read and wrote, where it is recorded.
#include <charconv>

#include "http/engine_paths.h"

namespace skald::http {
namespace {

// The cursor is a commit's place; a page has all operations of its commits.
Response list(Engine& engine, const Request& request) {
  const Page page = Page::of(request);
  std::int64_t after = 0;
  if (const std::string text = page.after(1)[0]; !text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), after);
    if (error != std::errc() || end != text.data() + text.size() || after < 0)
      throw Invalid("BAD_CURSOR", "cursor is not one that this list has given; start again without it");
  }
  Listing<checker::Operation> out;
  out.items =
      engine.database().read_result([&](Transaction& tx) { return engine.sagas().history(tx, after, page.limit + 1); });
  std::size_t commits = 0;
  for (std::size_t i = 0; i < out.items.size(); ++i) {
    const bool next = i == 0 || out.items[i].at != out.items[i - 1].at;
    if (!next || ++commits <= page.limit) continue;
    out.next_cursor = Page::cursor_at({std::to_string(out.items[i - 1].at)});
    out.items.resize(i);
  }
  return Response::json(200, out);
}

}  // namespace

void add_history_paths(Routes& routes, Engine& engine) {
  routes.get("/api/history", Access::admin,
             describe<void, Listing<checker::Operation>>(
                 "What sagas read and wrote, in the order of commits, for skald check"),
             [&engine](const Request& request) { return list(engine, request); });
}

}  // namespace skald::http
