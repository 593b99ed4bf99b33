// A request as a stranger writes it: every part of it is data; the answer is always
// a whole response with a known status, and no text of it breaks a header.
#include <cstdlib>

#include "http/idempotency.h"
#include "http/router.h"

namespace skald::http {
namespace {

struct Item {
  std::string name;
  std::int64_t amount = 0;
  std::optional<std::vector<std::string>> tags;
};
BOOST_DESCRIBE_STRUCT(Item, (), (name, amount, tags))

struct StillClock final : Clock {
  Time now() const override { return from_micros(1'800'000'000'000'000); }
  Instant steady() const override { return {}; }
};
struct CountedRandom final : Random {
  std::uint64_t next() override { return ++drawn; }
  std::uint64_t drawn = 0;
};

Routes& routes() {
  static StillClock clock;
  static CountedRandom random;
  static const Env env{clock, random, silent_observer()};
  static const auto db = open_sqlite(env, {.path = ":memory:"});
  static Routes* const all = [] {
    migrate_api_keys(*db);
    auto* made = new Routes(env, Authenticator(env, "secret"), "fuzz");
    made->get("/items/{id}", Access::open, describe<void, Item>("Read"),
              [](const Request& request) { return Response::json(200, Item{request.param("id"), 0, std::nullopt}); });
    made->post(*db, "/items", Access::open, describe<Item, Item>("Make"),
               [](const Request& request, Transaction&) { return Response::json(201, request.as<Item>()); });
    made->get("/admin", Access::admin, describe<void, Item>("Guarded"),
              [](const Request&) -> Response { std::abort(); });
    return made;
  }();
  return *all;
}

}  // namespace
}  // namespace skald::http

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace skald::http;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto part = [&] {
    const auto end = std::min(rest.find('\n'), rest.size());
    std::string out(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return out;
  };
  skald::Request request;
  request.method = part();
  request.path = part();
  request.headers["authorization"] = part();
  request.headers["idempotency-key"] = part();
  request.headers["traceparent"] = part();
  request.headers["content-type"] = part();
  request.body = std::string(rest);
  const skald::Response response = routes().dispatch(std::move(request));
  if (response.status < 200 || response.status > 599 || response.status == 500) std::abort();
  for (const auto& [name, value] : response.headers)
    if (value.find_first_of("\r\n") != std::string::npos) std::abort();
  return 0;
}
