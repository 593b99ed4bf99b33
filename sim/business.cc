#include "sim/business.h"

#include "skald/bus.h"
#include "skald/entry.h"

namespace skald::sim {
namespace {

constexpr std::string_view kTempers[] = {"calm", "flaky", "doomed", "unacceptable", "poison"};

const Migration kMigrations[] = {{
    .version = 1,
    .name = "what the simulator remembers",
    .sql = R"(
      CREATE TABLE sim_emitted (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, key TEXT NOT NULL, type TEXT NOT NULL,
                                subject TEXT NOT NULL, payload TEXT NOT NULL);
      CREATE TABLE sim_effect (n INTEGER PRIMARY KEY AUTOINCREMENT, consumer TEXT NOT NULL, event_id TEXT NOT NULL, payload TEXT NOT NULL,
                               fence BIGINT NOT NULL, worker TEXT NOT NULL, fence_held BIGINT NOT NULL, owner TEXT NOT NULL,
                               out_of_order BIGINT NOT NULL);
      CREATE TABLE sim_donation (n INTEGER PRIMARY KEY AUTOINCREMENT, request TEXT NOT NULL, body TEXT NOT NULL);
      CREATE TABLE sim_settled (n INTEGER PRIMARY KEY AUTOINCREMENT, event_id TEXT NOT NULL, status TEXT NOT NULL,
                                fence BIGINT NOT NULL, worker TEXT NOT NULL, fence_held BIGINT NOT NULL, owner TEXT NOT NULL);
      CREATE TABLE sim_disk_full (n BIGINT NOT NULL ON CONFLICT ROLLBACK);
    )",
    .postgres_sql = "",
}};

}  // namespace

Intent draw_intent(Stage& stage, std::string subject) {
  static constexpr std::string_view types[] = {"local.gift", "local.gift", "bus.gift",   "bus.gift",
                                               "both.gift",  "both.gift",  "nobody.gift"};
  SimRandom& dice = stage.dice;
  const Rates& rates = stage.plan.rates;
  Intent intent{std::move(subject), "key-" + std::to_string(dice.between(1, stage.plan.keys)),
                std::string(dice.pick(types)), Temper::calm};
  if (dice.chance(rates.flaky)) intent.temper = Temper::flaky;
  else if (dice.chance(rates.doomed)) intent.temper = Temper::doomed;
  else if (dice.chance(rates.unacceptable)) intent.temper = Temper::unacceptable;
  else if (dice.chance(rates.poison)) intent.temper = Temper::poison;
  return intent;
}

Temper temper_of(std::string_view payload) {
  for (std::size_t i = 0; i < std::size(kTempers); ++i)
    if (payload.find(kTempers[i]) != payload.npos) return static_cast<Temper>(i);
  return Temper::calm;
}

std::vector<std::string> consumers_of(std::string_view type) {
  if (type.starts_with("local.")) return {"ledger", "thanks"};
  if (type.starts_with("both.")) return {"mirror"};
  return {};
}

bool goes_to_bus(std::string_view type) { return type.starts_with("bus.") || type.starts_with("both."); }

void create_business_tables(Database& db) { db.migrate("sim", kMigrations); }

void announce_gift(Transaction& tx, const Intent& intent) {
  const std::string payload = "{\"temper\":\"" + std::string(kTempers[static_cast<std::size_t>(intent.temper)]) +
                              "\",\"subject\":\"" + intent.subject + "\"}";
  const std::string id = tx.emit({.id = "",
                                  .type = intent.type,
                                  .key = intent.key,
                                  .subject = intent.subject,
                                  .payload = payload,
                                  .traceparent = ""});
  tx.execute("INSERT INTO sim_emitted (id, key, type, subject, payload) VALUES ($1, $2, $3, $4, $5)", id, intent.key,
             intent.type, intent.subject, payload);
}

void apply_gift(Transaction& tx, std::string_view consumer, const Message& message, const Footing& footing) {
  tx.execute(
      "INSERT INTO sim_effect (consumer, event_id, payload, fence, worker, fence_held, owner, out_of_order) "
      "SELECT $1, $2, $3, $4, $5, fence, COALESCE(owner, ''), $6 FROM skald_partition WHERE id = $7",
      consumer, message.event.id, message.event.payload, footing.fence, footing.worker, message.out_of_order,
      partition_of(message.event.key));
}

void note_settled(Transaction& tx, const Entry& entry, EntryStatus status, const Footing& footing) {
  tx.execute(
      "INSERT INTO sim_settled (event_id, status, fence, worker, fence_held, owner) "
      "SELECT $1, $2, $3, $4, fence, COALESCE(owner, '') FROM skald_partition WHERE id = $5",
      entry.id, enum_name(status), footing.fence, footing.worker, entry.partition);
}

}  // namespace skald::sim
