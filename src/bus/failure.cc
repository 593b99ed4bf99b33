#include "bus/failure.h"

#include "base/text.h"
#include "env/foreign_code.h"
#include "skald/error.h"

namespace skald {
namespace {

// As long as the outbox keeps (lastError).
std::string short_text(const char* text) { return cut_text(text, 500); }

}  // namespace

Outcome outcome_of_current_exception() {
  try {
    throw;
  } catch (const EndOfProcess&) {
    throw;
  } catch (const Refused& error) {
    return Outcome::refused(short_text(error.what()));
  } catch (const Invalid& error) {
    return Outcome::refused(short_text(error.what()));
  } catch (const Busy& error) {
    return Outcome::failed(short_text(error.what()), error.retry_after);
  } catch (const std::exception& error) {
    return Outcome::failed(short_text(error.what()));
  } catch (...) {
    return Outcome::failed("something that is no std::exception was thrown");
  }
}

}  // namespace skald
