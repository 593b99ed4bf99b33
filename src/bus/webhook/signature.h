// Standard Webhooks signatures (standardwebhooks.com): HMAC-SHA-256 over
// "id.timestamp.body", in base64 behind "v1,".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skald {

// The key's bytes: what "whsec_" + base64 stands for, or the text itself without
// that prefix. Throws Invalid (WEBHOOK_SECRET) where the base64 is broken or the
// key is shorter than 16 bytes; the secret is not in the error.
std::string webhook_key(std::string_view secret);

std::string webhook_signature(std::string_view key, std::string_view id, std::int64_t seconds, std::string_view body);

}  // namespace skald
