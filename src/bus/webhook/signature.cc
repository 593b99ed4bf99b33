#include "bus/webhook/signature.h"

#include "base/hash.h"
#include "skald/error.h"

namespace skald {
namespace {

constexpr std::size_t kKeyBytesMin = 16;

}  // namespace

std::string webhook_key(std::string_view secret) {
  constexpr std::string_view prefix = "whsec_";
  std::string key(secret);
  if (secret.starts_with(prefix)) {
    try {
      key = base64_decode(secret.substr(prefix.size()));
    } catch (const Malformed&) {
      key.clear();
    }
    if (key.empty()) throw Invalid("WEBHOOK_SECRET", "the webhook secret must be whsec_ followed by base64");
  }
  if (key.size() < kKeyBytesMin)
    throw Invalid(
        "WEBHOOK_SECRET",
        "the webhook secret stands for fewer than 16 bytes; take whsec_ followed by `openssl rand -base64 32`");
  return key;
}

std::string webhook_signature(std::string_view key, std::string_view id, std::int64_t seconds, std::string_view body) {
  std::string content(id);
  content += '.';
  content += std::to_string(seconds);
  content += '.';
  content += body;
  const Digest digest = hmac_sha256(key, content);
  return "v1," + base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace skald
