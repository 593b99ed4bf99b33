// Keeps the donation's own record of what became of its announcement.
#pragma once

#include "skald/outbox.h"

namespace donation {

// Told by the outbox in the transaction that ends an entry or brings it back. Without a webhook an
// entry ends as well, and nobody was told.
skald::Settled outcome_keeper(bool has_webhook);

}  // namespace donation
