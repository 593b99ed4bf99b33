#include "sim/post_unit.h"

#include "skald/error.h"
#include "skald/json.h"

namespace skald::sim {
namespace {

constexpr Duration kPostSkew = 300ms;  // of the services' clocks

const Migration kHistory{
    .version = 1,
    .name = "what was written and heard",
    .sql =
        "CREATE TABLE sim_written (id TEXT PRIMARY KEY, key TEXT NOT NULL, number BIGINT NOT NULL);"
        "CREATE TABLE sim_heard (place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, key "
        "TEXT NOT NULL, number BIGINT NOT NULL, out_of_order INTEGER NOT NULL)",
    .postgres_sql = ""};

EngineOptions engine_options(const PostUnit::Surroundings& around) {
  EngineOptions out;
  out.outbox = around.stage.plan.options;
  out.outbox.source = "/" + around.name;
  out.alert = around.alert;
  return out;
}

}  // namespace

PostUnit::PostUnit(const Surroundings& around)
    : stage_(around.stage),
      name_(around.name),
      clock_(stage_.timeline, around.name < around.other ? kPostSkew : Duration::zero()),
      scribe_(stage_),
      env_{clock_, stage_.engine_random, scribe_},
      db_(stage_, around.wiring, around.disk),
      courier_(stage_, around.network, around.office, around.name),
      engine_(env_, db_, engine_options(around)),
      steps_(stage_, engine_, courier_) {
  db_.migrate("sim", {&kHistory, 1});
  engine_.consume({.name = "notes",
                   .type = around.other + ".note",
                   .handle = [this](Transaction& tx, const Message& message) { hear(tx, message); }});
  engine_.post(courier_);
  engine_.subscriber({.name = around.other, .types = {around.name + ".note"}});
  steps_.subscribe();
}

void PostUnit::write_notes(const std::string& key, int count, std::int64_t& next) {
  db_.write("write notes", [&](Transaction& tx) {
    for (int i = 0; i < count; ++i) {
      const std::string number = std::to_string(++next), id = name_ + "-" + number;
      tx.execute("INSERT INTO sim_written (id, key, number) VALUES ($1, $2, $3)", id, key, next);
      tx.emit({.id = id, .type = name_ + ".note", .key = key, .subject = number, .payload = "{}"});
    }
  });
}

void PostUnit::hear(Transaction& tx, const Message& message) {
  const Rates& rates = stage_.plan.rates;
  stage_.trace.note(stage_.now(), {"  hears", message.event.id});
  if (stage_.dice.chance(rates.flaky)) throw Busy("TRY_LATER", "simulated: the handler cannot work now");
  if (stage_.dice.chance(rates.unacceptable)) throw Refused("NOT_WANTED", "simulated: the handler refuses it");
  tx.execute("INSERT INTO sim_heard (id, key, number, out_of_order) VALUES ($1, $2, $3, $4)", message.event.id,
             message.event.key, std::stoll(message.event.subject), message.out_of_order);
}

}  // namespace skald::sim
