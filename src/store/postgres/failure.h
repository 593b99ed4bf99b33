// What an error of PostgreSQL means for a transaction, decided by its SQLSTATE.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace skald::postgres {

enum class Failure {
  rolled_back,      // deadlock, serialization: the transaction is gone, run it again at once
  connection_lost,  // the session is gone; what was not being committed did not happen
  idle_too_long,    // the same, because the transaction's own code paused; nothing of it has happened
  lock_timeout,
  unavailable,      // the server cannot do it now
  unique_violation,
  constraint_violation,
  write_in_read,    // also: the server is a standby (see Connection::exchange)
  bad_text,         // no UTF-8
  sql_error,        // everything else: the statement is wrong
};

// The failure of one statement of a round trip.
struct Failed {
  Failure kind;
  std::string sqlstate;
  std::string message;     // the server's primary message; holds no parameters
  std::size_t index = 0;   // of the statement; those before it succeeded
};

Failure classify(std::string_view sqlstate);

// Whether the same body may succeed if the whole transaction is run again.
constexpr bool is_retryable(Failure kind) {
  return kind == Failure::rolled_back || kind == Failure::connection_lost || kind == Failure::idle_too_long;
}
constexpr bool is_session_gone(Failure kind) {
  return kind == Failure::connection_lost || kind == Failure::idle_too_long;
}

// Throws the member of Skald's family (skald/error.h) that it is for the caller.
[[noreturn]] void raise(const Failed& failed);

}  // namespace skald::postgres
