// How many files and sockets this process may have open, and who gets them.
#pragma once

#include <cstddef>

#include "cli/settings.h"
#include "http/server.h"
#include "skald/env.h"

namespace skald::host {

// Raises the limit as far as this process may; that many.
std::size_t raise_descriptor_limit();

// Of `wanted` connections as many as leave `reserve` descriptors to databases, webhooks and the
// rest; where there are too few for both, a quarter of them.
std::size_t connections_within(std::size_t descriptors, std::size_t wanted, std::size_t reserve);

// Lowers connections_max where that many may not be open; the log says so.
void fit_connections(std::size_t descriptors, Observer& observer, const cli::Settings& settings,
                     http::ServerOptions& options);

}  // namespace skald::host
