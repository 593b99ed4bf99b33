// For the tests of this folder: a request with an Idempotency-Key.
#pragma once

#include <string>

#include "skald/http.h"

namespace skald::http {

inline Request request_with(const std::string& key, const std::string& body = "{}") {
  Request request;
  request.method = "POST";
  request.path = "/things";
  request.caller = {Role::customer, "kim"};
  request.body = body;
  request.headers["idempotency-key"] = key;
  return request;
}

}  // namespace skald::http
