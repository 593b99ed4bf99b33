#include "store/user_code.h"

namespace skald {
namespace {

// As the stores name it; where user code throws the same by itself, it is spared once.
bool is_session_lost(const Error& error) {
  return error.code() == "CONNECTION_LOST" || error.code() == "IDLE_IN_TRANSACTION";
}

}  // namespace

void UserCode::begin_run() noexcept {
  ran_ = false;
  thrown_ = nullptr;
}

bool UserCode::is_own() {
  if (!ran_) return false;
  try {
    throw;
  } catch (const Unavailable& error) {
    return !may_be_outage(is_session_lost(error));
  } catch (const CommitUnknown&) {
    return !may_be_outage(false);
  } catch (const LockTimeout&) {
    return !may_be_outage(false);
  } catch (const std::exception&) {
    return true;
  } catch (...) {
    return false;  // no error at all: a simulator ends its process by such
  }
}

bool UserCode::may_be_outage(bool session_lost) {
  if (has_thrown() && (watched_ || !session_lost)) return false;
  watched_ = true;
  return true;
}

// Brings what was enqueued to the server, and what its tables check only at the commit. SQLite
// has done all of that by now.
void UserCode::confirm(Transaction& tx) {
  if (tx.on(Dialect::postgres)) tx.query("SET CONSTRAINTS ALL IMMEDIATE");
}

}  // namespace skald
