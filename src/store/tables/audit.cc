#include "store/tables/audit.h"

#include "skald/conditions.h"
#include "skald/id.h"

namespace skald::tables::audit {

void insert(Transaction& tx, Random& random, std::string_view actor, std::string_view action, std::string_view target,
            std::string_view detail) {
  tx.insert(Record{make_id(tx.now(), random), tx.now(), std::string(actor), std::string(action), std::string(target),
                   std::string(detail)});
}

std::vector<Record> list(Transaction& tx, const Filter& filter, const std::optional<std::string>& after,
                         std::size_t limit) {
  Conditions conditions;
  if (filter.actor) conditions.add("actor = " + conditions.bind(*filter.actor));
  if (filter.action) conditions.add("action = " + conditions.bind(*filter.action));
  if (filter.target) conditions.add("target = " + conditions.bind(*filter.target));
  if (after) conditions.add("id < " + conditions.bind(*after));
  const std::string most = conditions.bind(limit);
  return tx.select<Record>(conditions.where() + " ORDER BY id DESC LIMIT " + most, conditions.params());
}

}  // namespace skald::tables::audit
