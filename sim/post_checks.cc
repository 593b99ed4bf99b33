#include "sim/post_checks.h"

#include <map>
#include <utility>
#include <vector>

#include "store/tables/landing.h"
#include "store/tables/subscriber.h"

namespace skald::sim {
namespace {

using Places = std::map<int, LanePlace>;

std::string apart(const Places& here, const Places& there, const std::string& way) {
  std::string out;
  for (const auto& [partition, place] : here) {
    const auto found = there.find(partition);
    if (place != (found == there.end() ? LanePlace{} : found->second))
      out += " lane " + std::to_string(partition) + " of " + way;
  }
  return out;
}

}  // namespace

std::string unfinished_events(const PostEnd& service) {
  std::string out;
  const auto add = [&out](const Rows& rows, const std::string& what) {
    for (std::size_t i = 0; i < rows.size() && i < 5; ++i) out += " " + what + rows.get<std::string>(i, 0);
  };
  look_at(service.disk, [&](Transaction& tx) {
    add(tx.query("SELECT id FROM skald_outbox WHERE source = '' AND (owed IS NULL OR owed <> 0)"),
        service.name + " owes event ");
    add(tx.query("SELECT o.id FROM skald_outbox o WHERE o.live = 1 AND NOT EXISTS (SELECT 1 FROM skald_blocked_key b "
                 "WHERE b.key = o.key)"),
        service.name + "'s event ");
  });
  return out;
}

std::string lanes_apart(std::span<const PostEnd> services, Random& random) {
  std::string out;
  for (const PostEnd& from : services) {
    std::string id;
    std::map<std::string, Places> here;
    look_at(from.disk, [&](Transaction& tx) {
      id = tables::subscriber::database_id(tx, random);
      for (const auto& row : tables::subscriber::all(tx)) here[row.name] = tables::subscriber::places(tx, row.name);
    });
    for (const PostEnd& to : services)
      look_at(to.disk, [&](Transaction& tx) {
        out += apart(here[to.name], tables::landing::lasts(tx, id), from.name + " to " + to.name);
      });
  }
  return out;
}

bool replay_dead(Stage& stage, sqlite::SqliteDatabase& disk, FaultyDatabase& db, Engine& engine) {
  std::vector<std::pair<std::string, std::string>> letters;
  look_at(disk, [&](Transaction& tx) {
    const Rows dead = tx.query(
        "SELECT d.id, o.key FROM skald_dead_letter d JOIN skald_outbox o ON o.id = d.id WHERE d.state = 'DEAD' "
        "ORDER BY d.id");
    for (std::size_t i = 0; i < dead.size(); ++i)
      letters.emplace_back(dead.get<std::string>(i, 0), dead.get<std::string>(i, 1));
  });
  for (const auto& [id, key] : letters) {
    db.write("replay", [&](Transaction& tx) { engine.replay(tx, id, "sim"); });
    engine.wake(key);
    stage.markers.hit(Marker::replayed);
  }
  return !letters.empty();
}

}  // namespace skald::sim
