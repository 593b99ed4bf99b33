// The HTTP edge as a service sees it: requests, responses, routes.
//
//   router.post(db, "/donation/donations", Access::customer,
//               describe<NewDonation, DonationView>("Take a donation", 201),
//               [](const Request& request, Transaction& tx) { … return Response::json(201, view); });
//
// Every POST, PUT, PATCH and DELETE runs in one writing transaction that also
// records its Idempotency-Key: one key, one effect, one answer. The handler may
// run several times before it commits and must have no effects but through `tx`.
// What is more than one transaction is a POST by act_once().
// Handlers run on worker threads and may block; what they throw of skald/error.h
// becomes a problem+json answer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "skald/database.h"
#include "skald/json.h"
#include "skald/schema.h"

namespace skald {

enum class Role { customer, admin, system };
BOOST_DESCRIBE_ENUM(Role, customer, admin, system)

// Who may call a route: `open` needs no token, `customer` any valid one, `admin`
// an admin's or the system's.
enum class Access { open, customer, admin };

struct Caller {
  Role role = Role::customer;
  std::string subject;
  bool may_see(std::string_view owner) const { return role != Role::customer || subject == owner; }
};

struct Request {
  std::string method;
  std::string path;                                         // percent-encoded in one canonical way, no query
  std::map<std::string, std::string> params;                // from the route's {name} parts, decoded
  std::map<std::string, std::string> query;                 // decoded
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case; repeated ones joined by ", "
  std::string body;                                         // UTF-8
  Caller caller;
  std::string traceparent;                                  // valid W3C context, made when absent
  std::string request_id;
  std::string effect_id;                                    // of act_once() only, see there
  std::string peer;                                         // the address it came from; empty: this process

  const std::string& param(const std::string& name) const { return params.at(name); }
  std::optional<std::string> query_value(const std::string& name) const;
  std::string_view header(std::string_view name) const;     // empty where absent
  // The body decoded; Malformed (400) or Invalid (422) name the place. It may have 20,000 values.
  static constexpr std::size_t kValuesMax = 20'000;
  template <class T> T as() const { return json::read<T>(json::parse(body, kValuesMax), ""); }
};

// A filter of the query as one of the names of E. Invalid with `code` lists them.
template <DescribedEnum E>
std::optional<E> enum_filter(const Request& request, const std::string& name, const char* code = "BAD_FILTER") {
  const auto text = request.query_value(name);
  if (!text) return std::nullopt;
  if (const auto value = enum_of<E>(*text)) return value;
  std::string names;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>(
      [&](auto one) { names += (names.empty() ? "" : ", ") + std::string(one.name); });
  throw Invalid(code, name + " must be one of " + names);
}

struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::map<std::string, std::string> headers;

  template <class T>
  static Response json(int status, const T& value) {
    return {status, to_json(value), "application/json", {}};
  }
  static Response text(std::string body) { return {200, std::move(body), "text/plain; charset=utf-8", {}}; }
};

template <class T>
struct Listing {
  std::vector<T> items;
  std::optional<std::string> next_cursor;
  BOOST_DESCRIBE_CLASS(Listing, (), (items, next_cursor), (), ())
};

// What an engine has, with the name of the service whose engine it is: one process may
// run several, each on a database of its own.
template <class T>
struct OfService : T {
  std::string service;
  BOOST_DESCRIBE_CLASS(OfService, (T), (service), (), ())
};

// One page of a list: `{items, nextCursor?}`. `limit` (1..200, default 50) and
// `cursor` come from the query; a cursor is opaque to clients and holds the sort
// values of the last row they were given.
//
//   const Page page = Page::of(request);
//   auto rows = tx.select<Row>("WHERE id > $1 ORDER BY id LIMIT $2", page.after(1)[0], page.limit + 1);
//   return Response::json(200, page.cut(std::move(rows), [](const Row& row) { return Page::cursor_at({row.id}); }));
struct Page {
  std::size_t limit = 50;
  std::optional<std::string> cursor;

  static Page of(const Request& request);  // Invalid BAD_LIMIT, BAD_CURSOR
  static std::string cursor_at(const std::vector<std::string>& position);
  // The position that the cursor holds; `fields` empty strings on the first page.
  std::vector<std::string> after(std::size_t fields) const;  // Invalid BAD_CURSOR

  // From up to limit + 1 rows: the page, and a cursor if there is more.
  template <class T, class F>
  Listing<T> cut(std::vector<T> rows, F&& cursor_of) const {
    Listing<T> out{std::move(rows), std::nullopt};
    if (out.items.size() > limit) {
      out.items.resize(limit);
      out.next_cursor = cursor_of(out.items.back());
    }
    return out;
  }
};

// Busy that a handler of act_once() has made sure of: whoever comes, nothing more happens under its effect id, and the
// next try under the key is another one. Any other Busy may pass while the effect is still under way.
struct RefusedForNow : Busy {
  using Busy::Busy;
};

// A server-sent event stream. `next` returns what is new since its last call as
// SSE text (empty: nothing), or nullopt to end the stream. It is called once at
// the start and then whenever the topic was published, on a worker thread, never
// twice at once, and not before the client has taken what was returned last.
// What it returns at once should be bounded: it is held in memory.
struct Stream {
  std::string topic;
  std::function<std::optional<std::string>()> next;
  bool in_parts = false;  // asked again, as soon as the client has taken a part, until there is nothing
};

using Handler = std::function<Response(const Request&)>;
using WriteHandler = std::function<Response(const Request&, Transaction&)>;
using StreamHandler = std::function<Stream(const Request&)>;

// Where one request writes, and what it does there.
struct WriteTarget {
  Database& db;
  WriteHandler handler;
  // What must be asked before the transaction begins, unless the request's Idempotency-Key
  // has its answer already. May refuse by throwing.
  std::function<void(const Request&)> prepare = {};
};
using WriteChoice = std::function<WriteTarget(const Request&)>;

// What /openapi.json says of a route.
struct Doc {
  std::string summary = {};
  std::string request_schema = {};   // JSON Schema, empty where there is no body
  std::string response_schema = {};  // empty where the answer has no body, or is not JSON
  int success = 200;
  std::vector<std::string> query = {};  // names of the filters it takes, beside limit and cursor
  bool paged = false;                   // takes limit and cursor
  std::string content_type = "application/json";
  bool keyed = false;                   // takes an Idempotency-Key; what write() and act_once() add does
  std::string request_name = {};        // of the schemas: "donation::NewDonation", "donation::DonationView list"
  std::string response_name = {};
};

template <class> inline constexpr bool is_listing = false;
template <class T> inline constexpr bool is_listing<Listing<T>> = true;

namespace detail {

template <class T> struct BodyName {
  static std::string of() { return std::string(type_name<T>()); }
};
template <> struct BodyName<RawJson> {
  static std::string of() { return ""; }  // it is nothing in particular
};
template <class T> struct BodyName<OfService<T>> : BodyName<T> {};
template <class T> struct BodyName<Listing<T>> {
  static std::string of() { return BodyName<T>::of() + " list"; }
};

}  // namespace detail

template <class In, class Out>
Doc describe(std::string summary, int success = 200, std::vector<std::string> query = {}) {
  Doc doc{.summary = std::move(summary), .success = success, .query = std::move(query), .paged = is_listing<Out>};
  if constexpr (!std::is_void_v<In>) {
    doc.request_schema = json_schema<In>();
    doc.request_name = detail::BodyName<In>::of();
  }
  if constexpr (!std::is_void_v<Out>) {
    doc.response_schema = json_schema<Out>();
    doc.response_name = detail::BodyName<Out>::of();
  }
  return doc;
}

// Where services register their routes, at start-up and from one thread. A path
// is made of literal segments and {name} segments; a literal wins over a name.
// Invalid (BAD_ROUTE) where a path makes no sense or is taken.
class Router {
 public:
  virtual ~Router() = default;
  virtual void get(std::string path, Access access, Doc doc, Handler handler) = 0;
  // `db` holds the effect and the idempotency keys; it outlives the router.
  void write(Database& db, std::string method, std::string path, Access access, Doc doc, WriteHandler handler) {
    write(std::move(method), std::move(path), access, std::move(doc),
          [&db, handler = std::move(handler)](const Request&) { return WriteTarget{db, std::cref(handler)}; });
  }
  // The same where the database depends on the request. A request that is repeated with its
  // Idempotency-Key must go to the database that it went to first.
  virtual void write(std::string method, std::string path, Access access, Doc doc, WriteChoice choose) = 0;
  virtual void stream(std::string path, Access access, Doc doc, StreamHandler handler) = 0;
  // A POST whose handler brings its own transactions. It must be harmless to repeat: there is
  // no Idempotency-Key for it but what the handler makes of it.
  virtual void act(std::string path, Access access, Doc doc, Handler handler) = 0;
  // The same with an Idempotency-Key, for what is no single transaction, as starting a saga.
  // `db` keeps the keys; it outlives the router. Before the handler runs, the key is committed
  // with an effect id, which the handler finds in its request; where it returns, its answer is
  // kept with the key. A repetition is given that answer; one that finds none (the process
  // died, something was away) runs the handler again with the same effect id. So must the
  // handler, also where two run at once in two processes:
  //  - have its effect at most once under one effect id, and find it there the second time;
  //  - refuse by Invalid, Unauthorized, Forbidden, NotFound or Refused only where this try has
  //    no effect, now or later, and by RefusedForNow where no try under its effect id has one
  //    any more: the key may then be free again. Every other error leaves it as it is.
  // Without a key each request has an effect id of its own.
  virtual void act_once(Database& db, std::string path, Access access, Doc doc, Handler handler) = 0;
  void post(Database& db, std::string path, Access access, Doc doc, WriteHandler handler) {
    write(db, "POST", std::move(path), access, std::move(doc), std::move(handler));
  }
  void post(std::string path, Access access, Doc doc, WriteChoice choose) {
    write("POST", std::move(path), access, std::move(doc), std::move(choose));
  }
};

}  // namespace skald
