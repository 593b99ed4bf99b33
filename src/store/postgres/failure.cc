#include "store/postgres/failure.h"

#include "skald/error.h"

namespace skald::postgres {
namespace {

struct Known {
  std::string_view sqlstate;  // or how it begins
  Failure kind;
};

// The first that fits wins.
constexpr Known kKnown[] = {
    {"40001", Failure::rolled_back},           // serialization_failure
    {"40P01", Failure::rolled_back},           // deadlock_detected
    {"55P03", Failure::lock_timeout},          // lock_not_available
    {"57014", Failure::unavailable},           // query_canceled: statement_timeout
    {"57P", Failure::connection_lost},         // shutdown, crash, recovery, a dropped database, an idle session
    {"25P03", Failure::idle_too_long},         // idle_in_transaction_session_timeout
    {"08", Failure::connection_lost},          // connection exceptions
    {"26000", Failure::connection_lost},       // our statement is unknown: somebody reset the session
    {"53", Failure::unavailable},              // disk full, out of memory, too many connections
    {"58", Failure::unavailable},              // the server's own input and output
    {"23505", Failure::unique_violation}, {"23", Failure::constraint_violation}, {"25006", Failure::write_in_read},
    {"22021", Failure::bad_text},         {"22P05", Failure::bad_text},
};

}  // namespace

Failure classify(std::string_view sqlstate) {
  for (const Known& known : kKnown)
    if (sqlstate.starts_with(known.sqlstate)) return known.kind;
  return Failure::sql_error;
}

void raise(const Failed& failed) {
  const std::string cause = failed.message + " (SQLSTATE " + failed.sqlstate + ")";
  switch (failed.kind) {
    case Failure::rolled_back:
      throw Unavailable("TRANSACTION_ROLLED_BACK",
                        "the database gave the transaction up in favour of another, try again: " + cause);
    case Failure::connection_lost:
      throw Unavailable("CONNECTION_LOST", "the connection to the database was lost, try again: " + cause);
    case Failure::idle_too_long:
      throw Unavailable("IDLE_IN_TRANSACTION",
                        "the code in a transaction paused for longer than the database allows, make its calls outside "
                        "of it: " +
                            cause);
    case Failure::lock_timeout:
      throw LockTimeout("LOCK_TIMEOUT", "a row stayed locked by another transaction for too long, try again: " + cause);
    case Failure::unavailable:
      if (failed.sqlstate == "53100")
        throw Unavailable("DISK_FULL", "the database server's disk is full, make room there and try again: " + cause);
      throw Unavailable("DATABASE_UNAVAILABLE", "the database cannot do this now, look at its log: " + cause);
    case Failure::unique_violation:
      throw Conflict("UNIQUE_VIOLATION", "a row with this key is already there: " + cause);
    case Failure::constraint_violation:
      throw Conflict("CONSTRAINT_VIOLATION", "a rule of the table forbids this row: " + cause);
    case Failure::write_in_read: throw Error("WRITE_IN_READ", "a read cannot write, use Database::write: " + cause);
    case Failure::bad_text: throw Invalid("BAD_TEXT", "text must be UTF-8 without a zero byte: " + cause);
    case Failure::sql_error: break;
  }
  throw Error("SQL_ERROR", "the statement is wrong, correct it: " + cause);
}

}  // namespace skald::postgres
