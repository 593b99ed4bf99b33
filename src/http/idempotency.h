// Idempotency keys of the API: one key, one effect, one answer, for 24 hours unless it is set otherwise.
//
// The key is scoped by subject, method and path, and is stored by the very
// transaction that has the effect: there is no instant at which one is there
// without the other. Only what committed is remembered: a refusal that was thrown
// has rolled back and had no effect, so the same key may be tried again.
//
// Where the effect is more than one transaction (act_once_per_key), the key is stored
// before it, with an id under which the effect is found again; the answer is behind it:
//
// | the handler                        | what becomes of the key                             |
// | answers                            | the answer is kept with it                          |
// | refuses: Invalid, NotFound, Refused, Forbidden, Unauthorized | it is free, for another body too, unless another try is open |
// | throws RefusedForNow               | it is free: nothing more comes of its effect id     |
// | throws anything else, or dies      | it waits: who repeats it goes on under the same id  |
// | runs in another process as well    | both give the answer that is kept first             |
//
// What may pass (a row lock that was not free, a database that is away, a commit without an
// answer) tells nothing of the effect: it may be there, or come by another process that is
// still at it. So a try that ended with it stays open, and no refusal frees the key any more.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "skald/database.h"
#include "skald/http.h"

namespace skald::http {

inline constexpr Duration kApiKeyKept = std::chrono::hours(24);

// The keys under way in this process; on SQLite there is no other. One for all databases
// that requests of one path may go to. Thread safe.
class InFlight {
 public:
  // Answers are kept for that long.
  explicit InFlight(Duration kept = kApiKeyKept) : kept_(kept) {}
  Duration kept() const { return kept_; }

  // Leaves when destroyed; null where the key is under way already.
  class Hold {
   public:
    Hold(InFlight& keys, std::string key) : keys_(keys), key_(std::move(key)) {}
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold();

   private:
    InFlight& keys_;
    std::string key_;
  };
  std::unique_ptr<Hold> enter(std::string key);

 private:
  Duration kept_;
  std::mutex mutex_;
  std::set<std::string> keys_;
};

// Brings the table of keys up to date; once per database before its first use.
void migrate_api_keys(Database& db);

// Runs the handler in one writing transaction and, with an Idempotency-Key
// header, at most once per key: later calls get the first answer byte for byte,
// marked `idempotency-replayed: true`. Returns after the commit. Beside what the
// handler and the store throw: Invalid BAD_IDEMPOTENCY_KEY, Invalid KEY_REUSED
// (another body), Busy KEY_IN_FLIGHT.
Response run_once_per_key(Database& db, InFlight& in_flight, const Request& request, const WriteHandler& handler);

// The same for a handler that brings its own transactions; Router::act_once() says what it
// must keep to. Throws CommitUnknown (ANSWER_NOT_KEPT) where the effect is there and the
// answer could not be kept.
Response act_once_per_key(Database& db, InFlight& in_flight, Env env, const Request& request, const Handler& handler);

// Whether this database remembers an answer under the request's Idempotency-Key.
bool remembers(Database& db, const Request& request);

// Deletes up to 500 expired keys; true where there may be more.
bool purge_expired(Database& db);

}  // namespace skald::http
