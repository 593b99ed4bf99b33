// The errors of Skald: a small closed family. A type exists only where a caller
// reacts differently to it; everything else about an error is its code and text.
#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

namespace skald {

// `code` is stable and SCREAMING_SNAKE: clients switch on it. what() is a
// sentence for a person that says what to do. `members` is what else an HTTP client is
// told, as the inside of a JSON object ("\"allowed\":[\"start\"]"); mostly empty.
class Error : public std::runtime_error {
 public:
  Error(std::string code, const std::string& message, std::string members = {})
      : std::runtime_error(message), code_(std::move(code)), members_(std::move(members)) {}
  const std::string& code() const noexcept { return code_; }
  const std::string& members() const noexcept { return members_; }

 private:
  std::string code_, members_;
};

// The request contradicts what is stored (a second donation with one id).
struct Conflict : Error {
  using Error::Error;
};

// What a saga's step lacks and others may free (units of a product, seats, a quota): it waits
// until Local::freed() or Sagas::freed() says so, and is refused after `limit`.
struct Shortage {
  std::string resource, key;
  std::chrono::milliseconds limit{2000};
};

// Somebody else is at it; the same request may succeed later.
struct Busy : Error {
  Busy(std::string code, const std::string& message, std::optional<std::chrono::milliseconds> after = std::nullopt,
       std::optional<Shortage> lacking = std::nullopt)
      : Error(std::move(code), message), retry_after(after), shortage(std::move(lacking)) {}
  std::optional<std::chrono::milliseconds> retry_after;
  std::optional<Shortage> shortage;  // of a local step, which then waits for it instead of trying again by the clock
};

// What was read has changed since: read again and decide again.
struct Stale : Error {
  using Error::Error;
};

// A row lock was not free within its time limit.
struct LockTimeout : Error {
  using Error::Error;
};

// Locks were asked for against the global order: a bug in the caller.
struct LockOrder : Error {
  using Error::Error;
};

// The business says no. Trying again cannot help.
struct Refused : Error {
  using Error::Error;
};

// A database, bus or peer cannot be reached or cannot work now; nothing happened.
struct Unavailable : Error {
  using Error::Error;
};

// A commit was sent and its answer never came, and it could not be found out
// yet whether it happened. The caller must not assume either.
struct CommitUnknown : Error {
  using Error::Error;
};

// Well-formed input with values that cannot be accepted.
struct Invalid : Error {
  using Error::Error;
};

// Input that cannot even be read (bad JSON, bad UTF-8).
struct Malformed : Invalid {
  using Invalid::Invalid;
};

// Stored data contradicts itself or fails its checksum.
struct Corrupt : Error {
  using Error::Error;
};

struct NotFound : Error {
  using Error::Error;
};

// The caller has not shown who it is, or may not do this.
struct Unauthorized : Error {
  using Error::Error;
};
struct Forbidden : Error {
  using Error::Error;
};

}  // namespace skald
