#include "store/tables/landing.h"

#include "skald/json.h"

namespace skald::tables::landing {

std::optional<Last> last(Transaction& tx, std::string_view sender, int partition) {
  const Rows rows = tx.query(
      "SELECT number, chain, former, ids FROM skald_landing WHERE sender = $1 AND partition = $2", sender, partition);
  if (rows.empty()) return std::nullopt;
  return Last{rows.get<std::int64_t>(0, 0), rows.get<std::string>(0, 1), rows.get<std::string>(0, 2),
              from_json<std::vector<std::string>>(rows.get<std::string>(0, 3))};
}

std::map<int, LanePlace> lasts(Transaction& tx, std::string_view sender) {
  const Rows rows = tx.query("SELECT partition, number, chain FROM skald_landing WHERE sender = $1", sender);
  std::map<int, LanePlace> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    out[rows.get<int>(i, 0)] = {rows.get<std::int64_t>(i, 1), rows.get<std::string>(i, 2)};
  return out;
}

}  // namespace skald::tables::landing
