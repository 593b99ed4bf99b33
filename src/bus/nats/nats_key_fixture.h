// Keys and signed claims of NATS ("nkeys" and JWTs) for tests, by OpenSSL: what the
// program nsc would make. The same name gives the same key; none is a secret.
#pragma once

#include <openssl/evp.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/hash.h"

namespace skald::test {

class NatsKey {
 public:
  enum class Kind : unsigned { account = 0, server_operator = 14 << 3, user = 20 << 3 };

  NatsKey(Kind kind, std::string_view name) : kind_(static_cast<unsigned>(kind)) {
    const Digest digest = sha256(name);
    bytes_.assign(digest.begin(), digest.end());
    key_.reset(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, digest.data(), digest.size()));
    if (!key_) throw std::runtime_error("OpenSSL makes no ed25519 key");
  }

  std::string public_key() const {
    unsigned char raw[32];
    std::size_t size = sizeof raw;
    if (EVP_PKEY_get_raw_public_key(key_.get(), raw, &size) != 1) throw std::runtime_error("no public key");
    return encode(std::string{static_cast<char>(kind_)}.append(raw, raw + size));
  }
  // The kind of key is behind the five bits that say that this is a seed.
  std::string seed() const {
    constexpr unsigned kSeed = 18 << 3;
    return encode(std::string{static_cast<char>(kSeed | kind_ >> 5), static_cast<char>((kind_ & 31) << 3)} + bytes_);
  }
  // `claims` are members of the part "nats", which says what `subject` is and may do.
  std::string sign(const NatsKey& subject, const std::string& claims) const {
    const std::string text = base64url(R"({"typ":"JWT","alg":"ed25519-nkey"})") + "." +
                             base64url(R"({"jti":"test","iat":1700000000,"iss":")" + public_key() + R"(","sub":")" +
                                       subject.public_key() + R"(","nats":{"version":2,)" + claims + "}}");
    return text + "." + base64url(signature(text));
  }

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };

  std::string signature(const std::string& text) const {
    const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
    unsigned char out[64];
    std::size_t size = sizeof out;
    if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
        EVP_DigestSign(context.get(), out, &size, reinterpret_cast<const unsigned char*>(text.data()), text.size()) !=
            1)
      throw std::runtime_error("OpenSSL does not sign");
    return {out, out + size};
  }

  // With its checksum (CRC-16/XMODEM, low byte first) in base32, whose last letter is filled up with zeros.
  static std::string encode(std::string data) {
    unsigned crc = 0;
    for (const char c : data) {
      crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8;
      for (int bit = 0; bit < 8; ++bit) crc = ((crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
    }
    data += static_cast<char>(crc & 0xff);
    data += static_cast<char>(crc >> 8);
    std::string out;
    std::uint64_t bits = 0;
    int count = 0;
    const auto letter = [&] { out += "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[bits >> count & 31]; };
    for (const char c : data) {
      bits = bits << 8 | static_cast<unsigned char>(c);
      for (count += 8; count >= 5;) count -= 5, letter();
    }
    if (count > 0) bits <<= 5 - count, count = 0, letter();
    return out;
  }

  unsigned kind_;
  std::string bytes_;
  std::unique_ptr<EVP_PKEY, Free> key_;
};

}  // namespace skald::test
