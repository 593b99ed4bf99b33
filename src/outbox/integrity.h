// The content hash of an entry: SHA-256 over (subject, type, payload), each
// behind its length; with a key it is an HMAC, so that somebody who can write the
// table cannot forge it. Computed over the stored bytes, never re-serialised JSON.
#pragma once

#include <string>
#include <string_view>

#include "skald/entry.h"

namespace skald::outbox {

std::string content_hash(const Event& event, std::string_view hash_key);
bool verify(const Entry& entry, std::string_view hash_key);

}  // namespace skald::outbox
