#include "store/tables/chain.h"

#include "base/hash.h"

namespace skald::tables {

std::string next_chain(std::string_view former, std::span<const std::string> ids) {
  std::string text(former);
  for (const std::string& id : ids) text += '\n' + id;
  return hex(sha256(text)).substr(0, 16);
}

}  // namespace skald::tables
