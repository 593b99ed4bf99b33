// Where a server of this program listens.
#pragma once

#include <string>

#include "cli/settings.h"
#include "http/server.h"

namespace skald::host {

// From the settings `listen`, `auth.secret` and those of `http`. Invalid
// (BAD_SETTING, OPEN_LISTEN).
http::ServerOptions server_options(const cli::Settings& settings);

// How programs on this machine reach it: "127.0.0.1:8080".
std::string local_address(const http::ServerOptions& options, std::uint16_t port);

}  // namespace skald::host
