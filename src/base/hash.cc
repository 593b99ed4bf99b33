#include "base/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <memory>

#include "skald/error.h"
#include "skald/event.h"

namespace skald {
namespace {

// Fetching the algorithm costs more than hashing a small payload.
const EVP_MD* sha256_algorithm() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return algorithm;
}

EVP_MD_CTX* thread_context() {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  thread_local const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  return context.get();
}

std::string encode64(std::string_view data, const char* alphabet, bool padded) {
  std::string out;
  out.reserve((data.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < data.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(3, data.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < left ? static_cast<unsigned char>(data[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) {
      if (k <= left) out += alphabet[bits >> (18 - 6 * k) & 63];
      else if (padded) out += '=';
    }
  }
  return out;
}

int decode_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

}  // namespace

Digest sha256(std::string_view data) {
  Digest out;
  EVP_MD_CTX* context = thread_context();
  if (EVP_DigestInit_ex(context, sha256_algorithm(), nullptr) != 1 ||
      EVP_DigestUpdate(context, data.data(), data.size()) != 1 || EVP_DigestFinal_ex(context, out.data(), nullptr) != 1)
    throw std::runtime_error("SHA-256 is not available in this OpenSSL");
  return out;
}

Digest hmac_sha256(std::string_view key, std::string_view data) {
  Digest out;
  unsigned int size = 0;
  if (HMAC(sha256_algorithm(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(data.data()), data.size(), out.data(), &size) == nullptr)
    throw std::runtime_error("HMAC-SHA-256 is not available in this OpenSSL");
  return out;
}

std::string hex(const Digest& digest) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(64);
  for (unsigned char c : digest) {
    out += digits[c >> 4];
    out += digits[c & 15];
  }
  return out;
}

std::string base64(std::string_view data) {
  return encode64(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", true);
}

std::string base64url(std::string_view data) {
  return encode64(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", false);
}

std::string base64_decode(std::string_view text) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  if (text.size() % 4 == 1) throw Malformed("MALFORMED_BASE64", "the text is not base64");
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    const int digit = decode_digit(c);
    if (digit < 0) throw Malformed("MALFORMED_BASE64", "the text is not base64");
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>(bits >> count & 0xff);
    }
  }
  return out;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::uint64_t hash64(std::string_view data) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, then mixed: its low bits alone are weak
  for (char c : data) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccd;
  hash ^= hash >> 33;
  return hash;
}

std::string unambiguous(std::initializer_list<std::string_view> fields) {
  std::string out;
  for (std::string_view field : fields) {
    out += std::to_string(field.size());
    out += ':';
    out += field;
  }
  return out;
}

int partition_of(std::string_view key) { return static_cast<int>(hash64(key) % kPartitions); }

}  // namespace skald
