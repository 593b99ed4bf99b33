#include "order/lab_bench.h"

#include "skald/commutative.h"
#include "skald/id.h"
#include "skald/optimistic.h"

namespace order {

struct LabProduct {
  std::string id;
  std::int64_t quantity = 0, reserved = 0, version = 0;
};
BOOST_DESCRIBE_STRUCT(LabProduct, (), (id, quantity, reserved, version))

}  // namespace order

template <>
struct skald::Table<order::LabProduct> {
  static constexpr std::string_view name = "order_lab_product", key = "id";
};

namespace order {
namespace {

using skald::Transaction;
using skald::checker::Kind;
using LabMove = skald::GuardedUpdate<LabProduct>;

const skald::VersionFile& lab_file() {
  static const skald::VersionFile file([](Transaction& tx, const skald::VersionEntry& entry) {
    static const LabMove taking = LabMove().take(&LabProduct::quantity).put(&LabProduct::reserved);
    if (!taking.run(tx, entry.resource, entry.amount))
      throw skald::Refused("SOLD_OUT", "the lab's product has not enough");
  });
  return file;
}

// In life a trail and a lock's fence are kept for good. Nobody asks for those of a product that was only tried out.
void forget(Transaction& tx, const std::string& id) {
  tx.execute("DELETE FROM order_lab_product WHERE id = $1", id);
  tx.execute("DELETE FROM skald_version_entry WHERE resource = $1", id);
  tx.execute("DELETE FROM skald_version_head WHERE resource = $1", id);
  tx.execute("DELETE FROM skald_permit WHERE semaphore = $1", "lock/" + id);
  tx.execute("DELETE FROM skald_semaphore WHERE name = $1", "lock/" + id);
}

}  // namespace

LabBench::LabBench(const Shop& shop, std::int64_t quantity)
    : db_(shop.db()),
      id_("lab/" + skald::make_id(shop.env.clock.now(), shop.env.random)),
      initial_(quantity),
      sagas_(shop.engine, shop.lab, shop.env, shop.options.pause, id_),
      lock_(db_, id_, std::chrono::seconds(30)) {
  db_.write("lab", [&](Transaction& tx) { tx.insert(LabProduct{id_, quantity, 0, 0}); });
  for (const char* saga : {"A", "B"}) record(Kind::begin, saga, "");
}

// What the lab leaves behind harms nobody: a failed clean-up is not worth an error.
LabBench::~LabBench() {
  try {
    if (permit_) lock_.release(*permit_);
    db_.write("lab", [&](Transaction& tx) { forget(tx, id_); });
  } catch (const skald::Error&) {
    permit_.reset();
  }
}

void LabBench::record(Kind kind, const std::string& saga, const std::string& step) {
  skald::checker::Operation& operation = history_.emplace_back();
  operation.at = static_cast<std::int64_t>(timeline.size()) + 1;
  operation.saga_id = saga;
  operation.saga_type = "lab";
  operation.step = step;
  operation.kind = kind;
  if (kind == Kind::begin) return;
  operation.resource = "product";
  operation.key = "lamp";
}

void LabBench::record_lock(Kind kind, const std::string& saga) {
  record(kind, saga, "lock");
  history_.back().mode = skald::LockMode::exclusive;
}

void LabBench::note(const skald::RowAccess& access) {
  record(access.kind == skald::RowAccess::Kind::read    ? Kind::read
         : access.kind == skald::RowAccess::Kind::write ? Kind::write
         : undoing_                                     ? Kind::undo_add
                                                        : Kind::add,
         acting_saga_, acting_step_);
  history_.back().version_read = access.version_read;
  history_.back().version_written = access.version_written;
}

void LabBench::act(const std::string& saga, const std::string& step, const std::function<void(Transaction&)>& body) {
  const std::vector<skald::checker::Operation> before = history_;
  acting_saga_ = saga;
  acting_step_ = step;
  const auto watched = [&](Transaction& tx) {
    history_ = before;  // a transaction may run several times
    tx.watch(this);
    body(tx);
    tx.watch(nullptr);
  };
  try {
    db_.write("lab", watched);
  } catch (...) {
    history_ = before;
    throw;
  }
}

// A saga that gave back what it had taken ended undone, the other as it wanted.
std::vector<std::string> LabBench::findings() const {
  std::vector<skald::checker::Operation> history = history_;
  for (const char* saga : {"A", "B"}) {
    skald::checker::Operation end;
    end.at = static_cast<std::int64_t>(timeline.size()) + 2;
    end.saga_id = saga;
    end.saga_type = "lab";
    end.kind = Kind::finish;
    end.outcome = skald::checker::Outcome::completed;
    for (const auto& operation : history_)
      if (operation.saga_id == saga && operation.kind == Kind::undo_add)
        end.outcome = skald::checker::Outcome::compensated;
    history.push_back(end);
  }
  std::vector<std::string> out;
  for (const auto& finding : skald::checker::check(history))
    out.push_back(std::string(skald::enum_name(finding.anomaly)) + ": " + finding.explanation);
  return out;
}

LabBench::Seen LabBench::read(const std::string& saga, const std::string& note, const std::string& step) {
  LabProduct row;
  act(saga, step, [&](Transaction& tx) { row = *tx.find<LabProduct>(id_); });
  timeline.push_back({saga, "read", row.quantity, std::nullopt, note});
  return {row.quantity, row.version};
}

void LabBench::write(const std::string& saga, std::int64_t quantity, const std::string& note) {
  act(saga, "write", [&](Transaction& tx) {
    const skald::Rows written =
        tx.query("UPDATE order_lab_product SET quantity = $2, version = version + 1 WHERE id = $1 RETURNING version",
                 id_, quantity);
    tx.note({skald::RowAccess::Kind::write, "product", id_, std::nullopt, written.get<std::int64_t>(0, 0)});
  });
  timeline.push_back({saga, "write", std::nullopt, quantity, note});
}

bool LabBench::take(const std::string& saga, std::int64_t amount, const std::string& note) {
  static const LabMove taking = LabMove().take(&LabProduct::quantity).put(&LabProduct::reserved);
  bool taken = false;
  act(saga, "take", [&](Transaction& tx) { taken = taking.run(tx, id_, amount); });
  timeline.push_back({saga, "take " + std::to_string(amount), std::nullopt,
                      taken ? std::optional(quantity()) : std::nullopt, taken ? note : "not enough is free"});
  return taken;
}

void LabBench::give(const std::string& saga, std::int64_t amount, const std::string& note) {
  static const LabMove giving = LabMove().take(&LabProduct::reserved).put(&LabProduct::quantity);
  undoing_ = true;
  act(saga, "take", [&](Transaction& tx) { giving.run(tx, id_, amount); });
  undoing_ = false;
  timeline.push_back({saga, "give back " + std::to_string(amount), std::nullopt, quantity(), note});
}

bool LabBench::write_if_unchanged(const std::string& saga, std::int64_t seen_version, std::int64_t quantity,
                                  const std::string& note) {
  try {
    act(saga, "write",
        [&](Transaction& tx) { skald::update_if_unchanged<&LabProduct::quantity>(tx, id_, seen_version, quantity); });
  } catch (const skald::Stale& stale) {
    timeline.push_back({saga, "write", std::nullopt, std::nullopt, stale.what()});
    return false;
  }
  timeline.push_back({saga, "write", std::nullopt, quantity, note});
  return true;
}

bool LabBench::enter(const std::string& saga, Exclusion how) {
  bool mine = false;
  if (how == Exclusion::semantic) {
    mine = sagas_.enter(saga);
  } else if (auto permit = lock_.try_acquire(saga)) {
    permit_ = std::move(permit);
    mine = true;
  }
  if (mine) record_lock(Kind::lock, saga);
  const std::string held = how == Exclusion::semantic ? "RESERVING, until the saga's end"
                                                      : "lent with a fence, until it is given back or its lease ends";
  say(saga, "lock", mine ? held : "BUSY: the other saga holds it, so this one waits");
  return mine;
}

void LabBench::hold(const std::string& saga, Exclusion how) {
  if (!enter(saga, how))
    throw skald::Corrupt("LOCK_NOT_GRANTED", "nobody else is at " + id_ + ", and saga " + saga + " does not get it");
}

void LabBench::leave(const std::string& saga, Exclusion how) {
  if (how == Exclusion::semantic) {
    sagas_.leave(saga);
  } else {
    lock_.release(*permit_);
    permit_.reset();
  }
  record_lock(Kind::unlock, saga);
  say(saga, "unlock", how == Exclusion::semantic ? "the saga has ended" : "given back");
}

std::int64_t LabBench::append(const std::string& saga, std::int64_t amount) {
  std::int64_t seq = 0;
  act(saga, "take", [&](Transaction& tx) { seq = lab_file().append(tx, id_, saga, "RESERVE", amount); });
  timeline.push_back({saga, "append RESERVE " + std::to_string(amount), std::nullopt, quantity(),
                      "line " + std::to_string(seq) + " of the version file, applied in its order"});
  return seq;
}

std::int64_t LabBench::value_at(const std::string& saga, std::int64_t seq, const std::string& note) {
  std::int64_t value = initial_;
  db_.read([&](Transaction& tx) {
    value = initial_;
    lab_file().replay(tx, id_, 1, [&](const skald::VersionEntry& entry) {
      if (entry.seq <= seq) value -= entry.amount;
    });
  });
  timeline.push_back({saga, "read as of line " + std::to_string(seq), value, std::nullopt, note});
  return value;
}

void LabBench::say(const std::string& saga, const std::string& step, const std::string& note) {
  timeline.push_back({saga, step, std::nullopt, std::nullopt, note});
}

std::int64_t LabBench::quantity() const {
  return db_.read_result([&](Transaction& tx) { return tx.find<LabProduct>(id_)->quantity; });
}

}  // namespace order
