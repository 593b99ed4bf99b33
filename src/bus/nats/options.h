// NatsOptions (skald/nats.h) as the NATS library wants them.
#pragma once

#include <nats/nats.h>

#include <memory>
#include <string>
#include <string_view>

#include "skald/nats.h"

namespace skald {

struct FreeNatsOptions {
  void operator()(natsOptions* options) const { natsOptions_Destroy(options); }
};
using NatsOptionsHandle = std::unique_ptr<natsOptions, FreeNatsOptions>;

// Everything but the callbacks. Throws Invalid (NATS_URL, NATS_AUTH, NATS_TLS,
// NATS_LIMIT) with a sentence for options that cannot work.
NatsOptionsHandle make_nats_options(const NatsOptions& options);

// The hosts and ports alone, for errors: "a.example:4222, b.example:4222".
std::string nats_hosts(const NatsOptions& options);

// Throws Invalid (NATS_NAME) for what is not 1 to 64 of A-Z a-z 0-9 _ -: names
// become parts of subjects, where '.', '*' and '>' mean something.
void check_nats_name(std::string_view what, std::string_view name);

}  // namespace skald
