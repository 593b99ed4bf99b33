// Where a postgresql:// URL leads, for a FaultProxy in front of it.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace skald::test {

// Host and port; the URL is one that libpq can read.
inline std::pair<std::string, int> postgres_address(const std::string& url) {
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(PQconninfoParse(url.c_str(), nullptr),
                                                                              PQconninfoFree);
  std::pair<std::string, int> out{"127.0.0.1", 5432};
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    if (std::string_view(option->keyword) == "host") out.first = option->val;
    if (std::string_view(option->keyword) == "port") out.second = std::stoi(option->val);
  }
  return out;
}

}  // namespace skald::test
