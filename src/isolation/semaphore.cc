// skald_semaphore: one row per name, whose lock orders those who acquire.
// skald_permit: one row per slot, lent while `expires_at` lies ahead.
// skald_permit_waiter: the queue; who has not asked since `gone_at` has left it.
#include <algorithm>

#include "base/text.h"
#include "env/seam.h"
#include "skald/distributed_lock.h"

namespace skald {
namespace {

struct Header {
  std::int64_t ticket;
  std::int64_t slots;
};

// Draws a ticket and orders this transaction behind the others at this semaphore.
Header enter(Transaction& tx, std::string_view name) {
  const Rows rows = tx.query(
      "INSERT INTO skald_semaphore (name, tickets, slots) VALUES ($1, 1, 0) ON CONFLICT (name) DO UPDATE SET tickets = "
      "skald_semaphore.tickets + 1 RETURNING tickets, slots",
      name);
  return {rows.get<std::int64_t>(0, 0), rows.get<std::int64_t>(0, 1)};
}

void add_slots(Transaction& tx, std::string_view name, std::int64_t from, std::int64_t to) {
  for (std::int64_t slot = from; slot < to; ++slot)
    tx.enqueue("INSERT INTO skald_permit (semaphore, slot, holder, fence, expires_at) VALUES ($1, $2, '', 0, 0)", name,
               slot);
  tx.enqueue("UPDATE skald_semaphore SET slots = $2 WHERE name = $1", name, to);
}

// Those who came before `holder` and still ask.
std::int64_t waiters_ahead(Transaction& tx, std::string_view name, std::string_view holder, std::int64_t ticket) {
  tx.enqueue("DELETE FROM skald_permit_waiter WHERE semaphore = $1 AND gone_at <= $2", name, tx.now());
  return tx
      .query(
          "SELECT count(*) FROM skald_permit_waiter WHERE semaphore = $1 AND ticket < COALESCE((SELECT ticket FROM "
          "skald_permit_waiter WHERE semaphore = $1 AND holder = $2), $3)",
          name, holder, ticket)
      .get<std::int64_t>(0, 0);
}

void forget_waiter(Transaction& tx, std::string_view name, std::string_view holder) {
  tx.enqueue("DELETE FROM skald_permit_waiter WHERE semaphore = $1 AND holder = $2", name, holder);
}

}  // namespace

Semaphore::Semaphore(Database& db, std::string name, int permits, Duration lease)
    : db_(db), name_(std::move(name)), permits_(permits), lease_(lease) {
  if (name_.empty() || name_.size() > 200 || permits < 1 || permits > 1000 || lease < 100ms)
    throw Invalid(
        "BAD_SEMAPHORE",
        "a semaphore needs a name of 1 to 200 bytes, 1 to 1000 permits and a lease of 100 ms or more: correct '" +
            cut_text(name_, 200) + "'");
}

// A slot that `ahead` others leave over. On PostgreSQL one that check() holds for a late
// effect is not free, and is not waited for.
std::optional<std::int64_t> Semaphore::free_slot(Transaction& tx, std::int64_t ahead) {
  const std::string_view sql =
      tx.on(Dialect::postgres)
          ? "SELECT slot FROM skald_permit WHERE semaphore = $1 AND slot < $2 AND expires_at <= $3 ORDER BY slot LIMIT "
            "$4 FOR UPDATE SKIP LOCKED"
          : "SELECT slot FROM skald_permit WHERE semaphore = $1 AND slot < $2 AND expires_at <= $3 ORDER BY slot LIMIT "
            "$4";
  const Rows rows = tx.query(sql, name_, permits_, tx.now(), ahead + 1);
  if (static_cast<std::int64_t>(rows.size()) <= ahead) return std::nullopt;
  return rows.get<std::int64_t>(0, 0);
}

std::optional<Permit> Semaphore::acquire(Transaction& tx, std::string_view holder, Place place) {
  const Header header = enter(tx, name_);
  if (header.slots < permits_) add_slots(tx, name_, header.slots, permits_);
  const auto slot = free_slot(tx, waiters_ahead(tx, name_, holder, header.ticket));
  if (!slot) {
    if (place == Place::kept)
      tx.enqueue(
          "INSERT INTO skald_permit_waiter (semaphore, holder, ticket, gone_at) VALUES ($1, $2, $3, $4) ON CONFLICT "
          "(semaphore, holder) DO UPDATE SET gone_at = excluded.gone_at",
          name_, holder, header.ticket, tx.now() + lease_);
    return std::nullopt;
  }
  forget_waiter(tx, name_, holder);
  const Time expires_at = tx.now() + lease_;
  const Rows lent = tx.query(
      "UPDATE skald_permit SET holder = $3, fence = fence + 1, expires_at = $4 WHERE semaphore = $1 AND slot = $2 "
      "RETURNING fence",
      name_, *slot, holder, expires_at);
  return Permit{name_, *slot, lent.get<std::int64_t>(0, 0), expires_at};
}

std::optional<Permit> Semaphore::try_acquire(std::string_view holder) {
  return db_.write_result("acquire permit", [&](Transaction& tx) { return acquire(tx, holder, Place::none); });
}

Semaphore::Waiting Semaphore::wait_for(std::string_view holder, Duration limit) {
  return settled(
      db_.write_result("wait for permit", [&](Transaction& tx) { return wait(tx, holder, tx.now() + limit); }));
}

Semaphore::Waiting Semaphore::wait_until(std::string_view holder, Time deadline) {
  return settled(db_.write_result("wait for permit", [&](Transaction& tx) { return wait(tx, holder, deadline); }));
}

// Late, without a permit and without a time to ask again: its place is given up.
Semaphore::Waiting Semaphore::wait(Transaction& tx, std::string_view holder, Time deadline) {
  Waiting waiting{acquire(tx, holder, Place::kept), {}, deadline};
  if (waiting.permit) return waiting;
  if (tx.now() >= deadline) forget_waiter(tx, name_, holder);
  else waiting.again = std::clamp<Duration>(deadline - tx.now(), 1ms, std::min<Duration>(lease_ / 4, 100ms));
  return waiting;
}

// Behind the commit, which keeps that the place was given up.
Semaphore::Waiting Semaphore::settled(Waiting waiting) const {
  if (!waiting.permit && waiting.again == Duration::zero())
    throw LockTimeout("NO_PERMIT", "none of the " + std::to_string(permits_) + " permits of '" + name_ +
                                       "' became free in time, try again later");
  return waiting;
}

void Semaphore::leave(std::string_view holder) {
  db_.write("leave queue", [&](Transaction& tx) { forget_waiter(tx, name_, holder); });
}

bool Semaphore::renew(Permit& permit) {
  Time expires_at{};
  const bool renewed = db_.write_result("renew permit", [&](Transaction& tx) {
    expires_at = tx.now() + lease_;
    return tx.execute(
               "UPDATE skald_permit SET expires_at = $4 WHERE semaphore = $1 AND slot = $2 AND fence = $3 AND "
               "expires_at > $5",
               permit.semaphore, permit.slot, permit.fence, expires_at, tx.now()) == 1;
  });
  if (renewed) permit.expires_at = expires_at;
  return renewed;
}

void Semaphore::release(const Permit& permit) {
  db_.write("release permit", [&](Transaction& tx) {
    tx.execute("UPDATE skald_permit SET holder = '', expires_at = 0 WHERE semaphore = $1 AND slot = $2 AND fence = $3",
               permit.semaphore, permit.slot, permit.fence);
  });
}

// KEY SHARE stands against whoever lends the slot (FOR UPDATE) but not against renew()
// and release(), which change no key: a holder's heartbeat does not wait for its effect.
void Semaphore::check(Transaction& tx, const Permit& permit) const {
  const std::string_view sql = tx.on(Dialect::postgres)
                                   ? "SELECT 1 FROM skald_permit WHERE semaphore = $1 AND slot = $2 AND fence = $3 AND "
                                     "expires_at > $4 FOR KEY SHARE"
                                   : "SELECT 1 FROM skald_permit WHERE semaphore = $1 AND slot = $2 AND fence = $3 AND "
                                     "expires_at > $4";
  const bool held = !tx.query(sql, permit.semaphore, permit.slot, permit.fence, tx.now()).empty();
  if (held || !seam::holds(seam::Rule::permit_checked)) return;
  throw Stale("LEASE_LOST", "the permit of '" + permit.semaphore + "' under fence " + std::to_string(permit.fence) +
                                " has run out or was given back: stop, and acquire it again");
}

}  // namespace skald
