#include "interleave/stage.h"

#include "http/idempotency.h"
#include "isolation/schema.h"
#include "store/tables/schema.h"

namespace skald::test {
namespace {

constexpr const char* kWatch[] = {
    "CREATE TABLE effect (n BIGSERIAL PRIMARY KEY, id TEXT NOT NULL, partition BIGINT NOT NULL)",
    "CREATE TABLE account (id TEXT PRIMARY KEY, amount BIGINT NOT NULL, version BIGINT NOT NULL)",
    "CREATE TABLE trail (session BIGINT NOT NULL, changed TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL)",
    "CREATE TABLE owner_trail (before TEXT NOT NULL, after TEXT NOT NULL, fence_before BIGINT NOT NULL, fence_after "
    "BIGINT NOT NULL)",
    "CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "INSERT INTO trail SELECT current_setting('skald.session')::bigint, TG_TABLE_NAME, NEW.id, coalesce(owner, '') "
    "FROM skald_partition p WHERE p.id = NEW.partition AND current_setting('skald.session', true) IS NOT NULL; RETURN "
    "NULL; END $$",
    "CREATE FUNCTION note_owner() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "INSERT INTO owner_trail VALUES (coalesce(OLD.owner, ''), coalesce(NEW.owner, ''), OLD.fence, NEW.fence); RETURN "
    "NULL; END $$",
    // Deferred: these look at the owner while the change commits, not when it was made.
    "CREATE CONSTRAINT TRIGGER watch_outbox AFTER UPDATE ON skald_outbox DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
    "EXECUTE FUNCTION note_commit()",
    "CREATE CONSTRAINT TRIGGER watch_effect AFTER INSERT ON effect DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE "
    "FUNCTION note_commit()",
    "CREATE TRIGGER watch_partition AFTER UPDATE ON skald_partition FOR EACH ROW EXECUTE FUNCTION note_owner()",
};

// Between telling backends to end and their end no turn is given: how far they
// have come is the server's pace, not the schedule's.
constexpr std::string_view kWaitsForTheDying = "pg_terminate_backend(pid, ";

constexpr const char* kTables[] = {"skald_outbox",
                                   "skald_partition",
                                   "skald_worker",
                                   "skald_attempt",
                                   "skald_inbox",
                                   "skald_dead_letter",
                                   "skald_blocked_key",
                                   "skald_job",
                                   "skald_audit",
                                   "skald_api_key",
                                   "skald_saga",
                                   "skald_lock",
                                   "skald_signal",
                                   "skald_barrier",
                                   "skald_version_entry",
                                   "skald_version_head",
                                   "skald_permit",
                                   "skald_permit_waiter",
                                   "skald_semaphore",
                                   "skald_landing",
                                   "skald_lane",
                                   "skald_subscription",
                                   "effect",
                                   "account",
                                   "trail",
                                   "owner_trail"};

}  // namespace

Stage::Stage() {
  admin_ = open_postgres({*real_clock_, random_, silent_observer()},
                         {.url = url() + "?options=-c%20synchronous_commit%3Doff", .connections = 1});
  admin_->migrate(tables::kComponent, tables::migrations());
  http::migrate_api_keys(*admin_);
  admin_->migrate(isolation::kComponent, isolation::isolation_migrations());
  admin_->write("watch", [](Transaction& tx) {
    for (const char* sql : kWatch) tx.execute(sql);
  });
  conductor_ = std::make_unique<Conductor>(url(), kSessions);
  for (int i = 0; i < kSessions; ++i) sessions_.push_back(open(i));
}

// A session that waits for its turn is idle in its transaction for as long as the
// others need: only the schedule may end it.
std::unique_ptr<Database> Stage::open(int session) {
  PostgresOptions options;
  options.url = url() + "?options=-c%20synchronous_commit%3Doff%20-c%20skald.session%3D" + std::to_string(session);
  options.connections = 1;
  options.idle_in_transaction_timeout = 60s;
  options.before_statement = [](std::string_view sql) {
    if (sql.find(kWaitsForTheDying) == std::string_view::npos) Conductor::switch_point(sql);
  };
  options.on_connect = [this, session](int pid) { conductor_->note_backend(session, pid); };
  return open_postgres(env(session), options);
}

void Stage::reset(std::string_view key) {
  for (const auto& session : sessions_) session->set_commit_hook(nullptr);
  admin_->write("reset", [&](Transaction& tx) {
    for (const char* table : kTables) tx.enqueue(std::string("DELETE FROM ") + table);
    tx.execute("INSERT INTO skald_partition (id) VALUES ($1)", partition_of(key));
  });
}

std::string Stage::effects() {
  return admin_->read_result([](Transaction& tx) {
    const Rows rows = tx.query("SELECT id FROM effect ORDER BY n");
    std::string out;
    for (std::size_t i = 0; i < rows.size(); ++i) out += (i > 0 ? " " : "") + rows.get<std::string>(i, 0);
    return out;
  });
}

void Stage::put_effect(Transaction& tx, std::string_view event_id, std::string_view key) {
  tx.execute("INSERT INTO effect (id, partition) VALUES ($1, $2)", event_id, partition_of(key));
}

std::int64_t Stage::count(std::string_view sql) {
  return admin_->read_result([&](Transaction& tx) { return tx.query(sql).get<std::int64_t>(0, 0); });
}

std::string Stage::fence_broken(const std::vector<std::string>& workers) {
  return admin_->read_result([&](Transaction& tx) -> std::string {
    const Rows taken = tx.query(
        "SELECT fence_before, fence_after FROM owner_trail WHERE after <> '' AND before <> after AND fence_after <= "
        "fence_before");
    if (!taken.empty()) return "a partition changed its owner and kept its fence " + taken.get<std::string>(0, 1);
    const Rows rows = tx.query("SELECT session, changed, id, owner FROM trail");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto session = rows.get<std::size_t>(i, 0);
      if (session < workers.size() && workers[session] != rows.get<std::string>(i, 3))
        return "session " + std::to_string(session) + " committed a change of " + rows.get<std::string>(i, 1) + " " +
               rows.get<std::string>(i, 2) + " after its partition was taken over";
    }
    return {};
  });
}

}  // namespace skald::test
