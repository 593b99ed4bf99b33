// Keeps the donation's own record of what became of its announcement.
#pragma once

#include "skald/outbox.h"

namespace donation {

// Told by the outbox in the transaction that ends an entry or brings it back.
void keep_outcome(skald::Transaction& tx, const skald::Entry& entry, skald::EntryStatus status);

}  // namespace donation
