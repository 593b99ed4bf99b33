// Several engines behind one path: their lists one behind the other, and the engine that
// has what an id names.
//
// Every path takes the filter `service`, which leaves one engine. It is needed where an id
// is in several: an event that one service has sent to another is in the outbox of both.
// It also helps while one of the databases is away: a list of all of them needs them all.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "http/router.h"
#include "skald/engine.h"

namespace skald::http {

// The name is unique in its process.
struct ServiceEngine {
  std::string service;
  Engine& engine;
};
using Engines = std::vector<ServiceEngine>;
using EngineRefs = std::vector<std::reference_wrapper<const ServiceEngine>>;

// Those that the request is about: all, or the one of its filter `service`. Invalid
// (BAD_FILTER) names the known ones.
EngineRefs asked_for(const Engines& engines, const Request& request);

// What `question` gets out of the engine; where its database is away, the log is told whose.
template <class F>
auto ask(const ServiceEngine& of, F&& question) {
  try {
    return question(of.engine);
  } catch (const Unavailable& error) {
    throw Unavailable(error.code(), of.service + ": " + error.what());
  }
}

// Where a row stands in its list: the values that it is sorted by.
using Position = std::vector<std::string>;

// A list of one engine.
template <class T>
struct EngineList {
  // Up to `limit` rows (more are cut) behind a position, which is of empty texts at the beginning.
  std::function<std::vector<T>(Engine&, const Request&, const Position& after, std::size_t limit)> rows;
  std::function<Position(const T&)> position;
  std::size_t fields = 1;  // of a position
};

// What a cursor leaves to be listed: the first engine behind `after`, the others whole.
struct Remaining {
  EngineRefs engines;
  Position after;
};
Remaining remaining(const Engines& engines, const Request& request, const Page& page, std::size_t fields);

// A page of the engines' lists in the engines' order. Its cursor names the engine that the
// page ended in, and the place there.
template <class T>
Listing<OfService<T>> list_page(const Engines& engines, const Request& request, const EngineList<T>& list) {
  const Page page = Page::of(request);
  Remaining left = remaining(engines, request, page, list.fields);
  std::vector<OfService<T>> rows;
  for (const ServiceEngine& of : left.engines) {
    if (rows.size() > page.limit) break;
    const std::size_t wanted = page.limit + 1 - rows.size();
    for (T& row : ask(of, [&](Engine& engine) { return list.rows(engine, request, left.after, wanted); }))
      rows.push_back({std::move(row), of.service});
    left.after.assign(list.fields, "");
  }
  return page.cut(std::move(rows), [&](const OfService<T>& row) {
    Position place = list.position(row);
    place.insert(place.begin(), row.service);
    return Page::cursor_at(place);
  });
}

template <class T>
void add_list(Routes& routes, const Engines& engines, std::string path, std::string summary,
              std::vector<std::string> filters, EngineList<T> list) {
  filters.push_back("service");
  routes.get(std::move(path), Access::admin,
             describe<void, Listing<OfService<T>>>(std::move(summary), 200, std::move(filters)),
             [engines, list = std::move(list)](const Request& request) {
               return Response::json(200, list_page(engines, request, list));
             });
}

// What the first engine has that finds it: `find` gives an optional. None: no engine knows
// it. Where none of those that answer does, a database that is away is an error.
template <class Find>
auto find_first(const Engines& engines, const Request& request, Find&& find) {
  using T = typename std::invoke_result_t<Find, Engine&, Transaction&>::value_type;
  std::exception_ptr away;
  for (const ServiceEngine& of : asked_for(engines, request)) {
    try {
      auto found = ask(of, [&](Engine& engine) {
        return engine.database().read_result([&](Transaction& tx) { return find(engine, tx); });
      });
      if (found) return std::optional(OfService<T>{std::move(*found), of.service});
    } catch (const Unavailable&) {
      if (!away) away = std::current_exception();
    }
  }
  if (away) std::rethrow_exception(away);
  return std::optional<OfService<T>>();
}

// A write on what {id} names, in the transaction and with the Idempotency-Key of the
// engine that knows it. An id that none knows is left to the decision to refuse.
using Knows = std::function<bool(Engine&, Transaction&, const std::string& id)>;
using Decision = std::function<Response(const ServiceEngine&, const Request&, Transaction&)>;
WriteChoice decide_where_known(Engines engines, Knows knows, Decision decision);

}  // namespace skald::http
