// One HTTP request and its answer, waited for.
#pragma once

#include <string>

#include "skald/time.h"

namespace order {

struct HttpAnswer {
  int status = 0;
  std::string body;
};

// Unavailable (PROVIDER_DOWN): it was never sent. CommitUnknown (PROVIDER_SILENT): it
// may have been, and there is no answer. Connections are kept per thread.
HttpAnswer http_call(const std::string& method, const std::string& url, const std::string& body,
                     skald::Duration timeout, const std::string& traceparent = {});

}  // namespace order
