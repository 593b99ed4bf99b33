// Passwords in URLs, which must not stand on a command line.
#pragma once

#include <string_view>

namespace skald::cli {

// Whether one of the URLs (several by commas) has a password: behind the user's name, as a
// parameter of PostgreSQL, or as NATS's token. Where it is not clear, it has.
bool has_password(std::string_view urls);

}  // namespace skald::cli
