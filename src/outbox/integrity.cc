#include "outbox/integrity.h"

#include "base/hash.h"
#include "env/seam.h"

namespace skald::outbox {

std::string content_hash(const Event& event, std::string_view hash_key) {
  const std::string content = unambiguous({event.subject, event.type, event.payload});
  return hex(hash_key.empty() ? sha256(content) : hmac_sha256(hash_key, content));
}

bool verify(const Entry& entry, std::string_view hash_key) {
  if (!seam::holds(seam::Rule::hash_over_stored_bytes)) return true;
  return equal_in_constant_time(entry.content_hash, content_hash(entry.event, hash_key));
}

}  // namespace skald::outbox
