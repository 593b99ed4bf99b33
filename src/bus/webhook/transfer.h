// One POST and its answer, as a libcurl easy handle with everything it points to.
// Neither copies nor moves: libcurl holds its address.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>
#include <vector>

#include "bus/webhook/target.h"
#include "skald/bus.h"

namespace skald {

// Once per process, before anything else of libcurl. Unavailable (WEBHOOK_LIBCURL).
void initialize_libcurl();

class WebhookTransfer {
 public:
  struct Limits {
    std::chrono::milliseconds timeout;
    std::chrono::milliseconds connect_timeout;
    bool allow_private;
  };

  // `target` outlives the transfer. `headers` are whole lines without line ends.
  WebhookTransfer(const WebhookTarget& target, const std::vector<std::string>& headers, std::string body,
                  const Limits& limits);
  WebhookTransfer(const WebhookTransfer&) = delete;
  WebhookTransfer& operator=(const WebhookTransfer&) = delete;

  CURL* handle() const { return easy_.get(); }

  // After libcurl has ended it with `result`.
  Outcome outcome(CURLcode result, Time now) const;
  long status() const;  // of HTTP; 0 where there was none

 private:
  struct FreeEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static std::size_t take_body(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t take_header(char* data, std::size_t size, std::size_t count, void* self);

  std::string describe(long status) const;

  const WebhookTarget& target_;
  const bool allow_private_;
  const std::string body_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  std::unique_ptr<CURL, FreeEasy> easy_;

  std::string answer_;  // its first bytes, for the error text
  std::size_t header_bytes_ = 0;
  bool body_cut_ = false;       // the status is known, the rest of the body is not wanted
  bool private_seen_ = false;   // an address was blocked
  bool public_tried_ = false;   // another one was not
};

}  // namespace skald
