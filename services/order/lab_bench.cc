#include "order/lab_bench.h"

#include "skald/commutative.h"
#include "skald/id.h"
#include "skald/optimistic.h"

namespace order {

struct LabProduct {
  std::string id;
  std::int64_t quantity = 0, reserved = 0;
  std::string holder;
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(LabProduct, (), (id, quantity, reserved, holder, version))

}  // namespace order

template <>
struct skald::Table<order::LabProduct> {
  static constexpr std::string_view name = "order_lab_product", key = "id";
};

namespace order {
namespace {

using skald::Transaction;
using Move = skald::GuardedUpdate<LabProduct>;

const skald::VersionFile& lab_file() {
  static const skald::VersionFile file([](Transaction& tx, const skald::VersionEntry& entry) {
    static const Move taking = Move().take(&LabProduct::quantity).put(&LabProduct::reserved);
    if (!taking.run(tx, entry.resource, entry.amount))
      throw skald::Refused("SOLD_OUT", "the lab's product has not enough");
  });
  return file;
}

}  // namespace

LabBench::LabBench(skald::Database& db, skald::Env env, std::int64_t quantity)
    : db_(db),
      id_("lab/" + skald::make_id(env.clock.now(), env.random)),
      initial_(quantity),
      lock_(db, id_, std::chrono::seconds(30)) {
  db_.write("lab", [&](Transaction& tx) { tx.insert(LabProduct{id_, quantity, 0, "", 0}); });
}

// What the lab leaves behind harms nobody: a failed clean-up is not worth an error.
LabBench::~LabBench() {
  try {
    if (permit_) lock_.release(*permit_);
    db_.write("lab", [&](Transaction& tx) { tx.execute("DELETE FROM order_lab_product WHERE id = $1", id_); });
  } catch (const skald::Error&) {
    permit_.reset();
  }
}

LabBench::Seen LabBench::read(const std::string& saga, const std::string& note) {
  const auto row = db_.read_result([&](Transaction& tx) { return *tx.find<LabProduct>(id_); });
  timeline.push_back({saga, "read", row.quantity, std::nullopt, note});
  return {row.quantity, row.version};
}

void LabBench::write(const std::string& saga, std::int64_t quantity, const std::string& note) {
  db_.write("lab", [&](Transaction& tx) {
    tx.execute("UPDATE order_lab_product SET quantity = $2, version = version + 1 WHERE id = $1", id_, quantity);
  });
  timeline.push_back({saga, "write", std::nullopt, quantity, note});
}

bool LabBench::take(const std::string& saga, std::int64_t amount, const std::string& note) {
  static const Move taking = Move().take(&LabProduct::quantity).put(&LabProduct::reserved);
  const bool taken = db_.write_result("lab", [&](Transaction& tx) { return taking.run(tx, id_, amount); });
  timeline.push_back({saga, "take " + std::to_string(amount), std::nullopt,
                      taken ? std::optional(quantity()) : std::nullopt, taken ? note : "not enough is free"});
  return taken;
}

void LabBench::give(const std::string& saga, std::int64_t amount, const std::string& note) {
  static const Move giving = Move().take(&LabProduct::reserved).put(&LabProduct::quantity);
  db_.write("lab", [&](Transaction& tx) { giving.run(tx, id_, amount); });
  timeline.push_back({saga, "give back " + std::to_string(amount), std::nullopt, quantity(), note});
}

bool LabBench::write_if_unchanged(const std::string& saga, std::int64_t seen_version, std::int64_t quantity,
                                  const std::string& note) {
  try {
    db_.write("lab", [&](Transaction& tx) {
      skald::update_if_unchanged<&LabProduct::quantity>(tx, id_, seen_version, quantity);
    });
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
    mine = db_.write_result("lab", [&](Transaction& tx) {
      return tx.execute("UPDATE order_lab_product SET holder = $2 WHERE id = $1 AND holder = ''", id_, saga) == 1;
    });
  } else if (auto permit = lock_.try_acquire(saga)) {
    permit_ = std::move(permit);
    mine = true;
  }
  say(saga, "lock", mine ? "RESERVING, until the saga's end" : "BUSY: the other saga holds it, so this one waits");
  return mine;
}

void LabBench::leave(const std::string& saga, Exclusion how) {
  if (how == Exclusion::semantic) {
    db_.write("lab", [&](Transaction& tx) {
      tx.execute("UPDATE order_lab_product SET holder = '' WHERE id = $1 AND holder = $2", id_, saga);
    });
  } else {
    lock_.release(*permit_);
    permit_.reset();
  }
  say(saga, "unlock", "the saga has ended");
}

std::int64_t LabBench::append(const std::string& saga, std::int64_t amount) {
  const auto seq =
      db_.write_result("lab", [&](Transaction& tx) { return lab_file().append(tx, id_, saga, "RESERVE", amount); });
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
