#include "http/openapi.h"

#include <cctype>
#include <map>

#include "http/router.h"

namespace skald::http {
namespace {

constexpr std::string_view kComponentsBefore = R"json({
"securitySchemes":{"bearer":{"type":"http","scheme":"bearer","bearerFormat":"JWT"}},
"schemas":{)json";
constexpr std::string_view kComponentsAfter =
    R"json("Problem":{"type":"object","properties":{"type":{"type":"string"},"title":{"type":"string"},
"status":{"type":"integer"},"detail":{"type":"string"},"code":{"type":"string","pattern":"^[A-Z][A-Z0-9_]*$"},
"instance":{"type":"string"},"retryAfterSeconds":{"type":"integer"},
"state":{"type":"string","description":"of what is in the wrong state"},
"allowed":{"type":"array","description":"what it would take in that state","items":{"type":"string"}}},"required":["type","title","status","detail","code","instance"]}},
"responses":{"Problem":{"description":"Refused or failed; `code` says why","headers":{"Retry-After":{"schema":{"type":"integer"}}},
"content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}}},
"parameters":{
"IdempotencyKey":{"name":"Idempotency-Key","in":"header","required":false,
"description":"One key, one effect, one answer, for 24 hours unless the server is set otherwise","schema":{"type":"string","minLength":1,"maxLength":255}},
"Traceparent":{"name":"traceparent","in":"header","required":false,"schema":{"type":"string"}},
"Limit":{"name":"limit","in":"query","required":false,"schema":{"type":"integer","minimum":1,"maximum":200,"default":50}},
"Cursor":{"name":"cursor","in":"query","required":false,"description":"nextCursor of the page before","schema":{"type":"string"}}}})json";

std::string in_quotes(std::string_view text) {
  std::string out;
  json::write_string(out, text);
  return out;
}

std::string named_parameter(std::string_view name, bool in_path) {
  return R"({"name":)" + in_quotes(name) +
         (in_path ? R"(,"in":"path","required":true)" : R"(,"in":"query","required":false)") +
         R"(,"schema":{"type":"string"}})";
}

std::string parameters(const Route& route) {
  const auto shared = [](std::string_view name) {
    return R"({"$ref":"#/components/parameters/)" + std::string(name) + "\"}";
  };
  std::string out = shared("Traceparent");
  for (const auto& name : route.param_names) out += ',' + named_parameter(name, true);
  for (const auto& name : route.doc.query) out += ',' + named_parameter(name, false);
  if (route.doc.paged) out += ',' + shared("Limit") + ',' + shared("Cursor");
  if (route.doc.keyed) out += ',' + shared("IdempotencyKey");
  return out;
}

std::string method_name(const Route& route) {
  std::string out = route.method;
  for (char& c : out) c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string operation_id(const Route& route) {
  std::string out = method_name(route);
  for (char c : route.path) {
    if (c == '/') out += '_';
    else if (c != '{' && c != '}') out += c;
  }
  return out;
}

// Every body's schema under a name of its own. Two services may have types of one name: then the
// later one's is told with its service in front.
class Schemas {
 public:
  // A reference to it; the schema itself where it has no name.
  std::string put(const std::string& type, const std::string& schema) {
    if (type.empty()) return schema;
    std::string name = short_name(type);
    if (is_another(name, schema)) name = service_of(type) + name;
    while (is_another(name, schema)) name += 'X';
    schemas_.emplace(name, schema);
    return R"({"$ref":"#/components/schemas/)" + name + "\"}";
  }

  std::string text() const {
    std::string out;
    for (const auto& [name, schema] : schemas_)
      if (!schema.empty()) out += in_quotes(name) + ':' + schema + ',';
    return out;
  }

 private:
  bool is_another(const std::string& name, const std::string& schema) const {
    const auto known = schemas_.find(name);
    return known != schemas_.end() && known->second != schema;
  }

  // "DonationViewList" of "donation::DonationView list".
  static std::string short_name(const std::string& type) {
    constexpr std::string_view list = " list";
    std::string out = type.substr(type.rfind("::") == type.npos ? 0 : type.rfind("::") + 2);
    if (out.ends_with(list)) out.replace(out.size() - list.size(), list.size(), "List");
    std::erase_if(out, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
    return out;
  }
  static std::string service_of(const std::string& type) {
    std::string out = type.substr(0, type.find("::"));
    if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
    return out;
  }

  std::map<std::string, std::string> schemas_{{"Problem", ""}};  // that name is taken
};

std::string operation(const Route& route, Schemas& schemas) {
  const Doc& doc = route.doc;
  std::string out = R"({"operationId":)" + in_quotes(operation_id(route)) + R"(,"summary":)" + in_quotes(doc.summary);
  out += R"(,"parameters":[)" + parameters(route) + ']';
  if (!doc.request_schema.empty())
    out += R"(,"requestBody":{"required":true,"content":{"application/json":{"schema":)" +
           schemas.put(doc.request_name, doc.request_schema) + "}}}";
  out += R"(,"responses":{")" + std::to_string(doc.success) + R"(":{"description":"As asked")";
  const bool json_answer = doc.content_type == "application/json";
  if (!json_answer || !doc.response_schema.empty())
    out +=
        R"(,"content":{)" + in_quotes(doc.content_type) + R"(:{"schema":)" +
        (doc.response_schema.empty() ? R"({"type":"string"})" : schemas.put(doc.response_name, doc.response_schema)) +
        "}}";
  out += R"(},"default":{"$ref":"#/components/responses/Problem"}})";
  if (route.access == Access::open) out += R"(,"security":[])";
  return out + '}';
}

}  // namespace

std::string openapi_document(const std::deque<Route>& routes, std::string_view program_version) {
  Schemas schemas;
  std::map<std::string, std::string> paths;
  for (const auto& route : routes) {
    std::string& operations = paths[route.path];
    if (!operations.empty()) operations += ',';
    operations += in_quotes(method_name(route)) + ':' + operation(route, schemas);
  }
  std::string out =
      R"({"openapi":"3.1.0","info":{"title":"Skald","version":)" + in_quotes(program_version) + R"(},"paths":{)";
  bool first = true;
  for (const auto& [path, operations] : paths) {
    if (!first) out += ',';
    first = false;
    out += in_quotes(path) + ":{" + operations + '}';
  }
  return out + R"(},"security":[{"bearer":[]}],"components":)" + std::string(kComponentsBefore) + schemas.text() +
         std::string(kComponentsAfter) + '}';
}

}  // namespace skald::http
