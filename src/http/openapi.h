// /openapi.json, from the routes as they are registered.
#pragma once

#include <deque>
#include <string>
#include <string_view>

namespace skald::http {

struct Route;

// An OpenAPI 3.1 document. Schemas stand in place, but for the problem that
// every operation can answer with.
std::string openapi_document(const std::deque<Route>& routes, std::string_view program_version);

}  // namespace skald::http
