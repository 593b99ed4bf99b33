#include "bus/webhook/target.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "skald/error.h"

namespace skald {
namespace {

constexpr std::size_t kUrlMax = 2048;
// Shorter words ("api", "hooks") are no tokens, and would hide honest answers.
constexpr std::size_t kTokenMin = 8;

[[noreturn]] void bad_url(const std::string& why) { throw Invalid("WEBHOOK_URL", "the webhook's URL " + why); }

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, FreeUrl>;

std::string part(const Url& url, CURLUPart which) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, 0) != CURLUE_OK) return {};
  const std::unique_ptr<char, decltype(&curl_free)> owner(text, curl_free);
  return text;
}

void add_tokens(std::vector<std::string>& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("/&=?"), text.size());
    if (end >= kTokenMin) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

bool WebhookTarget::betrayed_by(std::string_view text) const {
  return std::any_of(confidential.begin(), confidential.end(),
                     [&](const std::string& token) { return text.find(token) != std::string_view::npos; });
}

WebhookTarget read_webhook_target(const std::string& text) {
  if (text.size() > kUrlMax) bad_url("is longer than 2048 bytes");
  if (text.find('\0') != std::string::npos) bad_url("contains a NUL character");
  const Url url(curl_url());
  if (!url) throw std::bad_alloc();
  // Schemes are checked below; without this flag an unknown one would be a riddle.
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
    bad_url("cannot be read; write it like https://example.org/hook");
  const std::string scheme = part(url, CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") bad_url("must begin with https:// or http://");
  if (!part(url, CURLUPART_USER).empty() || !part(url, CURLUPART_PASSWORD).empty())
    bad_url("must not contain a user name or password");

  WebhookTarget target;
  target.url = part(url, CURLUPART_URL);
  target.host = part(url, CURLUPART_HOST);
  if (target.host.empty()) bad_url("names no host");
  add_tokens(target.confidential, part(url, CURLUPART_PATH));
  add_tokens(target.confidential, part(url, CURLUPART_QUERY));
  return target;
}

}  // namespace skald
