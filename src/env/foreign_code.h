// Code of users may throw anything. What is no std::exception becomes one here, so that it is met like
// any other failure instead of ending the process.
#pragma once

#include <exception>
#include <stdexcept>

namespace skald {

// What ends a simulated process passes through everything, as a death does.
struct EndOfProcess {};

template <class F>
decltype(auto) run_foreign(F&& code) {
  try {
    return code();
  } catch (const std::exception&) {
    throw;
  } catch (const EndOfProcess&) {
    throw;
  } catch (...) {
    throw std::runtime_error("it threw something that is no std::exception");
  }
}

}  // namespace skald
