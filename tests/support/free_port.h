// A port of 127.0.0.1 for a server that is started, stopped and started again.
#pragma once

#include <cstdint>

namespace skald::test {

// Nobody has it, and the system gives it to no outgoing connection while its server is away. Each call gives another
// one. Thread safe. Throws std::runtime_error where all are taken.
std::uint16_t free_port();

}  // namespace skald::test
