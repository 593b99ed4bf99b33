#include "store/tables/audit.h"

#include "skald/id.h"

namespace skald::tables::audit {

void insert(Transaction& tx, Random& random, std::string_view actor, std::string_view action, std::string_view target,
            std::string_view detail) {
  tx.insert(Record{make_id(tx.now(), random), tx.now(), std::string(actor), std::string(action), std::string(target),
                   std::string(detail)});
}

std::vector<Record> list(Transaction& tx, const std::optional<std::string>& after, std::size_t limit) {
  return tx.select<Record>("WHERE (CAST($1 AS VARCHAR(200)) IS NULL OR id < $1) ORDER BY id DESC LIMIT $2", after,
                           limit);
}

}  // namespace skald::tables::audit
