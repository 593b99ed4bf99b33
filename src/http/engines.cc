#include "http/engines.h"

#include <algorithm>

#include "http/idempotency.h"

namespace skald::http {
namespace {

std::string names_of(const EngineRefs& engines) {
  std::string out;
  for (const ServiceEngine& of : engines) out += (out.empty() ? "" : ", ") + of.service;
  return out;
}

// A key that is remembered decides: what it did must not be done again elsewhere, whatever
// has changed since.
const ServiceEngine& choose(const EngineRefs& engines, const Request& request, const Knows& knows) {
  if (engines.empty()) throw NotFound("NO_ENGINE", "this process runs no engine");
  if (engines.size() == 1) return engines.front();
  for (const ServiceEngine& of : engines)
    if (ask(of, [&](Engine& engine) { return remembers(engine.database(), request); })) return of;
  EngineRefs known;
  for (const ServiceEngine& of : engines) {
    const bool here = ask(of, [&](Engine& engine) {
      return engine.database().read_result([&](Transaction& tx) { return knows(engine, tx, request.param("id")); });
    });
    if (here) known.emplace_back(of);
  }
  if (known.size() > 1)
    throw Conflict("SEVERAL_SERVICES",
                   "more than one service has this id: " + names_of(known) + "; say which with service=NAME");
  return known.empty() ? engines.front() : known.front();
}

}  // namespace

EngineRefs asked_for(const Engines& engines, const Request& request) {
  const auto wanted = request.query_value("service");
  const EngineRefs all(engines.begin(), engines.end());
  if (!wanted) return all;
  const auto found = std::ranges::find(engines, *wanted, &ServiceEngine::service);
  if (found == engines.end()) throw Invalid("BAD_FILTER", "service must be one of " + names_of(all));
  return {*found};
}

Remaining remaining(const Engines& engines, const Request& request, const Page& page, std::size_t fields) {
  Remaining out{asked_for(engines, request), page.after(fields + 1)};
  const std::string service = std::move(out.after.front());
  out.after.erase(out.after.begin());
  if (!page.cursor) return out;
  const auto begin = std::ranges::find_if(out.engines, [&](const ServiceEngine& of) { return of.service == service; });
  if (begin == out.engines.end())
    throw Invalid("BAD_CURSOR", "cursor is of a service that is not listed here; start again without it");
  out.engines.erase(out.engines.begin(), begin);
  return out;
}

WriteChoice decide_where_known(Engines engines, Knows knows, Decision decision) {
  return
      [engines = std::move(engines), knows = std::move(knows), decision = std::move(decision)](const Request& request) {
        const ServiceEngine& of = choose(asked_for(engines, request), request, knows);
        return WriteTarget{of.engine.database(),
                           [&of, &decision](const Request& asked, Transaction& tx) { return decision(of, asked, tx); }};
      };
}

}  // namespace skald::http
