// Every path of /openapi.json answers as it says.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "end_to_end/skald_process.h"
#include "skald/process.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

using boost::json::object;
using boost::json::value;

bool has_type(const value& what, std::string_view type) {
  if (type == "object") return what.is_object();
  if (type == "array") return what.is_array();
  if (type == "string") return what.is_string();
  if (type == "boolean") return what.is_bool();
  if (type == "integer") return what.is_int64() || what.is_uint64();
  if (type == "number") return what.is_number();
  return type == "null" && what.is_null();
}

// Enough of JSON Schema for what we write: type, properties, required, items, enum.
void expect_fits(const value& what, const value& schema, const std::string& at) {
  if (!schema.is_object()) return;
  const object& rules = schema.get_object();
  if (const auto* type = rules.if_contains("type"); type != nullptr && type->is_string()) {
    EXPECT_TRUE(has_type(what, type->get_string())) << at << " should be " << type->get_string();
  }
  if (const auto* names = rules.if_contains("enum")) {
    EXPECT_NE(std::find(names->as_array().begin(), names->as_array().end(), what), names->as_array().end()) << at;
  }
  if (what.is_object()) {
    if (const auto* required = rules.if_contains("required")) {
      for (const value& name : required->as_array())
        EXPECT_TRUE(what.get_object().contains(name.as_string())) << at << " lacks " << name;
    }
    if (const auto* properties = rules.if_contains("properties")) {
      for (const auto& member : what.get_object()) {
        const auto* rule = properties->as_object().if_contains(member.key());
        EXPECT_NE(rule, nullptr) << at << "/" << member.key() << " is not in the schema";
        if (rule != nullptr) expect_fits(member.value(), *rule, at + "/" + std::string(member.key()));
      }
    }
  }
  if (const auto* items = rules.if_contains("items"); items != nullptr && what.is_array())
    for (const value& item : what.get_array()) expect_fits(item, *items, at + "/*");
}

bool has_cursor(const value& operation) {
  return std::ranges::any_of(operation.at("parameters").as_array(), [](const value& one) {
    const auto* name = one.as_object().if_contains("$ref");
    return name != nullptr && name->as_string().ends_with("/Cursor");
  });
}

class OpenApiTest : public testing::Test {
 protected:
  // The documented path with something real for its {name}, where there is something.
  std::string target_for(const std::string& path) {
    std::string out;
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (path[i] != '{') {
        out += path[i];
        continue;
      }
      const std::size_t end = path.find('}', i);
      const auto known = std::ranges::find_if(real_, [&](const auto& one) { return path.starts_with(one.first); });
      if (path.substr(i, end - i) == "{n") out += "1";  // of a task
      else out += known != real_.end() ? known->second : "unknown";
      i = end;
    }
    return out;
  }

  void expect_as_documented(const std::string& method, const std::string& path, const object& operation) {
    const std::string at = method + " " + path;
    const object& responses = operation.at("responses").as_object();
    int success = 0;
    for (const auto& response : responses)
      if (response.key() != "default") success = std::stoi(std::string(response.key()));
    const auto* content = responses.at(std::to_string(success)).as_object().if_contains("content");
    if (content != nullptr && content->as_object().contains("text/event-stream")) return;  // never ends

    const HttpAnswer answer = server_.request(method, target_for(path));
    if (answer.status >= 400) {
      EXPECT_LT(answer.status, 500) << at << answer.body;
      EXPECT_TRUE(answer.is_problem()) << at << answer.head;
      const bool excused = method != "GET" || path.find("dead-letters/{") != path.npos;
      EXPECT_TRUE(excused) << at << " answered " << answer.status << ": " << answer.body;
      expect_fits(answer.json(), document_.at("components").at("schemas").at("Problem"), at);
      return;
    }
    EXPECT_EQ(answer.status, success) << at;
    if (content != nullptr && content->as_object().contains("application/json"))
      expect_fits(answer.json(), resolved(content->at("application/json").at("schema")), at);
  }

  // What a schema's name stands for.
  const value& resolved(const value& schema) const {
    const auto* name = schema.as_object().if_contains("$ref");
    if (name == nullptr) return schema;
    const std::string_view path = name->as_string();
    return document_.at("components").at("schemas").at(path.substr(path.rfind('/') + 1));
  }

  // Every body of an operation, by what it is for.
  std::map<std::string, value> bodies_of(const object& operation) const {
    std::map<std::string, value> out;
    const auto add = [&](const std::string& what, const value& holder) {
      if (const auto* content = holder.as_object().if_contains("content"))
        if (const auto* json_body = content->as_object().if_contains("application/json"))
          out[what] = json_body->at("schema");
    };
    if (const auto* body = operation.if_contains("requestBody")) add("request", *body);
    for (const auto& response : operation.at("responses").as_object())
      if (response.key() != "default") add("response", response.value());
    return out;
  }

  void expect_refused(const std::string& path, const std::string& body) {
    const HttpAnswer answer = server_.request("POST", path, body);
    EXPECT_EQ(answer.status, 422) << path << " " << body << " " << answer.body;
  }

  std::string id_of(const std::string& path, const std::string& body) {
    const HttpAnswer answer = server_.request("POST", path, body);
    EXPECT_LT(answer.status, 300) << path << answer.body;
    return std::string(answer.json().at("id").as_string());
  }

  // One of each thing of agentflow.
  void add_agentflow() {
    const std::string repository = (folder_.path() / "repository").string();
    std::filesystem::create_directory(repository);
    const auto clock = system_clock();
    EXPECT_TRUE(run_command(*clock, {.argv = {"git", "init", "-q"}, .folder = repository}).ok());
    const std::string git = id_of("/agentflow/gits", R"({"name":"shop","path":")" + repository + R"("})");
    const std::string plan = R"("gitRefs":[{"gitId":")" + git +
                             R"("}],"works":[{"name":"one","tasks":[{"prompt":"true"}],"wantsReport":true}]})";
    real_["/agentflow/gits"] = git;
    real_["/agentflow/mcp-servers"] = id_of("/agentflow/mcp-servers", R"({"name":"tools","command":"true"})");
    real_["/agentflow/templates"] = id_of("/agentflow/templates", R"({"name":"often",)" + plan);
    real_["/agentflow/workflows"] = id_of("/agentflow/workflows", R"({"name":"once",)" + plan);
    const std::string works = "/agentflow/workflows/" + real_["/agentflow/workflows"] + "/works";
    real_["/agentflow/works"] =
        server_.request("GET", works).json().at("items").as_array().at(0).at("id").as_string().c_str();
  }

  TemporaryFolder folder_;
  SkaldServer server_{{"--data", (folder_.path() / "data").string(), "--agentflow-skip-mcp-check"}};
  value document_;
  std::map<std::string, std::string> real_;  // by the beginning of a path
};

TEST_F(OpenApiTest, EveryBodyHasASchemaWithAName) {
  document_ = server_.request("GET", "/openapi.json").json();
  for (const auto& path : document_.at("paths").as_object()) {
    for (const auto& operation : path.value().as_object()) {
      for (const auto& [what, schema] : bodies_of(operation.value().as_object())) {
        const std::string at = std::string(operation.key()) + " " + std::string(path.key()) + " " + what;
        if (path.key() == "/openapi.json") continue;  // it is described elsewhere
        ASSERT_TRUE(schema.as_object().contains("$ref")) << at;
        EXPECT_EQ(resolved(schema).as_object().at("type"), "object") << at;
      }
    }
  }
  const object& schemas = document_.at("components").at("schemas").as_object();
  for (const char* name : {"NewDonation", "DonationView", "DonationViewList", "NewSlot", "NewBooking", "NewOrder"})
    EXPECT_TRUE(schemas.contains(name)) << name;
}

// The least that a schema allows is taken, and what is below it is not.
TEST_F(OpenApiTest, MinimumsAreTrue) {
  document_ = server_.request("GET", "/openapi.json").json();
  const auto low = [&](const char* schema, const char* member) {
    return document_.at("components").at("schemas").at(schema).at("properties").at(member).at("minimum").as_int64();
  };
  const auto gift = [](std::int64_t amount) {
    return R"({"requestId":"r","donor":"kim","currency":"EUR","amount":)" + std::to_string(amount) + "}";
  };
  expect_refused("/donation/donations", gift(low("NewDonation", "amount") - 1));
  EXPECT_EQ(server_.request("POST", "/donation/donations", gift(low("NewDonation", "amount"))).status, 201);
  const auto product = [](std::int64_t price, std::int64_t stock) {
    return R"({"sku":"lamp","name":"a lamp","currency":"EUR","price":)" + std::to_string(price) + R"(,"stock":)" +
           std::to_string(stock) + "}";
  };
  const std::int64_t price = low("NewProduct", "price"), stock = low("NewProduct", "stock");
  expect_refused("/order/products", product(price - 1, stock));
  expect_refused("/order/products", product(price, stock - 1));
  EXPECT_EQ(server_.request("POST", "/order/products", product(price, stock)).status, 201);
  expect_refused("/order/orders",
                 R"({"sku":"lamp","quantity":)" + std::to_string(low("NewOrder", "quantity") - 1) + "}");
  expect_refused("/booking/bookings", R"({"slotId":"00000000-0000-7000-8000-000000000000","players":)" +
                                          std::to_string(low("NewBooking", "players") - 1) + "}");
  EXPECT_EQ(low("NewSlot", "maxPlayers"), 1);
  EXPECT_EQ(low("NewSlot", "pricePerPlayer"), 0);
  EXPECT_EQ(low("Restock", "quantity"), 1);
}

// What operators send: an empty text is refused by its own code, before anybody looks whether the saga is there.
TEST_F(OpenApiTest, ShortestTextsAreTrue) {
  document_ = server_.request("GET", "/openapi.json").json();
  struct Text {
    const char *schema, *member, *path;
  };
  for (const Text& text : {Text{"Discard", "reason", "/api/dead-letters/none/discard"},
                           Text{"Compensation", "reason", "/api/sagas/none/compensate"},
                           Text{"Signal", "name", "/api/sagas/none/signal"}}) {
    const auto& schema = document_.at("components").at("schemas").at(text.schema).at("properties").at(text.member);
    EXPECT_EQ(schema.at("minLength").as_int64(), 1) << text.schema;
    EXPECT_EQ(server_.request("POST", text.path, "{\"" + std::string(text.member) + "\":\"\"}").status, 422)
        << text.path;
    EXPECT_EQ(server_.request("POST", text.path, "{\"" + std::string(text.member) + "\":\"x\"}").status, 404)
        << text.path;
  }
}

TEST_F(OpenApiTest, EveryListRefusesAFilterThatItDoesNotKnow) {
  document_ = server_.request("GET", "/openapi.json").json();
  int lists = 0;
  for (const auto& path : document_.at("paths").as_object()) {
    const auto* get = path.value().as_object().if_contains("get");
    if (get == nullptr || !has_cursor(*get)) continue;
    const HttpAnswer answer = server_.request("GET", target_for(std::string(path.key())) + "?nonsense=AVAILABLE");
    EXPECT_EQ(answer.status, 422) << path.key() << answer.body;
    EXPECT_NE(answer.body.find("UNKNOWN_FILTER"), std::string::npos) << path.key() << answer.body;
    ++lists;
  }
  EXPECT_GE(lists, 12);
}

TEST_F(OpenApiTest, EveryPathAnswersAsItSays) {
  server_.request("POST", "/donation/donations",
                  R"({"requestId":"r1","donor":"kim","amount":5,"currency":"EUR","message":"hi"})");
  server_.request("POST", "/order/products",
                  R"({"sku":"lamp","name":"a lamp","price":250,"currency":"EUR","stock":9})");
  const value order = server_.request("POST", "/order/orders", R"({"sku":"lamp","quantity":1})").json();
  const std::string course = id_of("/booking/courses", R"({"name":"Riverside"})");
  const std::string slot = id_of("/booking/slots", R"({"courseId":")" + course +
                                                       R"(","startsAt":"2090-01-01T09:00:00Z","maxPlayers":4,)"
                                                       R"("pricePerPlayer":10})");
  real_ = {{"/booking/courses", course},
           {"/booking/slots", slot},
           {"/booking/bookings", id_of("/booking/bookings", R"({"slotId":")" + slot + R"(","players":1})")},
           {"/donation/", "r1"},
           {"/api/outbox",
            server_.request("GET", "/donation/donations/r1").json().at("outbox").at("id").as_string().c_str()},
           {"/api/subscribers", "notify"},
           {"/api/sagas", order.at("sagaId").as_string().c_str()},
           {"/api/story", order.at("id").as_string().c_str()},
           {"/docs/errors", "KEY_REUSED"},
           {"/order/products", "lamp"},
           {"/order/orders", order.at("id").as_string().c_str()}};
  add_agentflow();
  document_ = server_.request("GET", "/openapi.json").json();
  int paths = 0;
  // What is there is looked at before it is changed or deleted.
  for (const bool looks : {true, false})
    for (const auto& path : document_.at("paths").as_object()) {
      for (const auto& operation : path.value().as_object()) {
        if ((operation.key() == "get") != looks) continue;
        std::string method(operation.key());
        for (char& c : method) c = static_cast<char>(c - 'a' + 'A');
        expect_as_documented(method, std::string(path.key()), operation.value().as_object());
      }
      ++paths;
    }
  EXPECT_GE(paths, 15);
  for (const char* path : {"/api/outbox",
                           "/api/outbox/{id}",
                           "/api/dead-letters",
                           "/api/dead-letters/{id}",
                           "/api/dead-letters/{id}/replay",
                           "/api/dead-letters/{id}/discard",
                           "/api/dead-letters/import",
                           "/api/subscribers",
                           "/api/subscribers/{id}",
                           "/api/subscribers/{id}/remove",
                           "/api/audit",
                           "/api/workers",
                           "/api/stream",
                           "/healthz",
                           "/readyz",
                           "/metrics",
                           "/openapi.json",
                           "/donation/donations",
                           "/donation/donations/{requestId}",
                           "/donation/reconcile",
                           "/donation/invariants",
                           "/booking/courses",
                           "/booking/slots",
                           "/booking/slots/{id}/close",
                           "/booking/slots/{id}/open",
                           "/booking/bookings",
                           "/booking/bookings/{id}",
                           "/booking/bookings/{id}/cancel",
                           "/booking/bookings/{id}/complete",
                           "/booking/bookings/{id}/no-show",
                           "/booking/bookings/{id}/history",
                           "/booking/bookings/{id}/events",
                           "/booking/bookings/{id}/notifications",
                           "/booking/ledger",
                           "/booking/invariants",
                           "/api/sagas",
                           "/api/sagas/{id}/retry",
                           "/api/locks",
                           "/api/isolation",
                           "/api/history",
                           "/order/products",
                           "/order/orders/{id}/events",
                           "/order/lab",
                           "/order/invariants"})
    EXPECT_TRUE(document_.at("paths").as_object().contains(path)) << path;
}

}  // namespace
}  // namespace skald::test
