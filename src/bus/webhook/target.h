// Where a webhook goes, read and checked once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace skald {

struct WebhookTarget {
  std::string url;
  std::string host;                       // all that errors may show of the URL
  std::vector<std::string> confidential;  // parts of the URL that may be a token

  // True where the text repeats a token of the URL, as error pages like to do.
  bool betrayed_by(std::string_view text) const;
};

// Throws Invalid (WEBHOOK_URL), without the URL in the text, for what is not
// http or https, has no host, carries credentials, or is longer than 2048 bytes.
WebhookTarget read_webhook_target(const std::string& url);

}  // namespace skald
