// GET /api/isolation: what the analyser says of this program's sagas.
#include "http/engine_paths.h"
#include "skald/analyser.h"

namespace skald::http {

void add_isolation_paths(Routes& routes, Engine& engine) {
  routes.get("/api/isolation", Access::admin,
             describe<void, analyser::Report>("Where this program's sagas could corrupt each other, the worst first"),
             [&engine](const Request&) {
               return Response{
                   200, report_json(analyser::analyse(engine.sagas().definitions())), "application/json", {}};
             });
}

}  // namespace skald::http
