#include "donation/reconciliation.h"

#include <algorithm>

namespace donation {
namespace {

using skald::Engine;
using skald::EntryStatus;
using skald::Rows;
using skald::Transaction;

constexpr std::size_t kPageRows = 500;
constexpr std::size_t kIdsShown = 50;

constexpr std::string_view kCaseColumns =
    "SELECT d.request_id, d.donor, d.owner, d.asked_id, d.amount, d.currency, d.message, d.status, d.event_id, "
    "d.content_hash, "
    "d.replaces, d.outcome_at, d.untold, d.created_at, "
    "d.version, l.state, o.status, o.key, o.subject, o.payload, o.content_hash, o.updated_at FROM ";
constexpr std::string_view kCaseJoins =
    " d LEFT JOIN skald_outbox o ON o.id = d.event_id LEFT JOIN skald_dead_letter l ON l.id = d.event_id";

bool has_ended(EntryStatus status) { return status == EntryStatus::COMPLETED || status == EntryStatus::DEAD_LETTER; }

std::vector<Case> cases_of(const Rows& rows) {
  std::vector<Case> out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Case& found = out[i];
    std::size_t c = 0;
    const auto next = [&]<class T>(T& member) { member = rows.get<T>(i, c++); };
    Donation& d = found.donation;
    next(d.request_id), next(d.donor), next(d.owner), next(d.asked_id), next(d.amount), next(d.currency),
        next(d.message), next(d.status), next(d.event_id), next(d.content_hash), next(d.replaces), next(d.outcome_at),
        next(d.untold), next(d.created_at), next(d.version);
    std::optional<std::string> letter;
    std::optional<std::int64_t> status;
    next(letter), next(status);
    found.has_dead_letter = letter.has_value();
    found.letter_waits = letter == "DEAD";
    if (!status) continue;
    auto& e = found.entry.emplace();
    e.status = static_cast<EntryStatus>(*status);
    next(e.key), next(e.subject), next(e.payload), next(e.content_hash), next(e.updated_at);
  }
  return out;
}

std::vector<Case> page_of_cases(Transaction& tx, std::string_view after) {
  static const std::string sql = std::string(kCaseColumns) +
                                 "(SELECT * FROM donation WHERE request_id > $1 ORDER BY request_id LIMIT $2)" +
                                 std::string(kCaseJoins) + " ORDER BY d.request_id";
  return cases_of(tx.query(sql, after, kPageRows));
}

// Again under the donation's lock: another repair may have been faster.
std::optional<Case> locked_case(Transaction& tx, const std::string& id) {
  static const std::string sql =
      std::string(kCaseColumns) + "donation" + std::string(kCaseJoins) + " WHERE d.request_id = $1";
  if (!tx.find_locked<Donation>(id)) return std::nullopt;
  auto found = cases_of(tx.query(sql, id));
  return std::move(found.at(0));
}

void set_outcome(Transaction& tx, const Donation& donation, Status status, std::optional<skald::Time> at,
                 std::string_view hash) {
  tx.execute(
      "UPDATE donation SET status = $2, outcome_at = $3, content_hash = $4, version = version + 1 WHERE request_id = "
      "$1",
      donation.id(), status, at, hash);
}

// What was donated is known, and the entry that says otherwise will never be sent.
bool can_be_replaced(Engine& engine, const Case& found) {
  return found.entry->status == EntryStatus::DEAD_LETTER && found.has_dead_letter &&
         engine.content_hash(announcement_of(found.donation)) == found.donation.content_hash;
}

void replace_entry(Engine& engine, Transaction& tx, const Case& found, const std::string& settled_by) {
  const Donation& donation = found.donation;
  skald::Event event = announcement_of(donation);
  event.id.clear();
  const std::string id = tx.emit(std::move(event));
  if (found.letter_waits)
    engine.discard(tx, donation.event_id, settled_by, "put right by reconciliation: replaced by event " + id);
  tx.execute("INSERT INTO donation_replaced (event_id, donation_id, by_event_id, at) VALUES ($1, $2, $3, $4)",
             donation.event_id, donation.id(), id, tx.now());
  tx.execute(
      "UPDATE donation SET event_id = $2, replaces = $3, status = $4, outcome_at = NULL, version = version + 1 WHERE "
      "request_id = $1",
      donation.id(), id, donation.event_id, Status::ACCEPTED);
}

bool mend(Engine& engine, Transaction& tx, const std::string& id, Kind kind, const Repairs& repairs) {
  const bool settles = kind == Kind::CONTENT_DISAGREES && !repairs.settled_by.empty();
  if (kind != Kind::MISSING_ENTRY && kind != Kind::STATUS_DISAGREES && !settles) return false;
  const auto current = locked_case(tx, id);
  if (!current) return false;
  const auto kinds = judge(*current);
  if (std::ranges::find(kinds, kind) == kinds.end()) return true;
  const Donation& donation = current->donation;
  if (kind == Kind::CONTENT_DISAGREES) {
    if (!can_be_replaced(engine, *current)) return false;
    replace_entry(engine, tx, *current, repairs.settled_by);
  } else if (kind == Kind::MISSING_ENTRY) {
    skald::Event event = announcement_of(donation);
    set_outcome(tx, donation, Status::ACCEPTED, std::nullopt, engine.content_hash(event));
    tx.emit(std::move(event));
  } else {
    const Status status = status_for(current->entry->status, donation.is_untold());
    const auto at = has_ended(current->entry->status) ? std::optional(current->entry->updated_at) : std::nullopt;
    set_outcome(tx, donation, status, at, donation.content_hash);
  }
  return true;
}

Position donations_page(Engine& engine, Transaction& tx, const std::string& after, const Repairs& repairs,
                        Report& report) {
  const auto cases = page_of_cases(tx, after);
  report.donations += static_cast<std::int64_t>(cases.size());
  for (const Case& found : cases) {
    const Donation& donation = found.donation;
    for (const Kind kind : judge(found))
      report.note(kind, donation.asked_as(), repairs.wanted && mend(engine, tx, donation.id(), kind, repairs));
  }
  if (cases.size() < kPageRows) return {Stage::entries, ""};
  return {Stage::donations, cases.back().donation.id()};
}

Position entries_page(Transaction& tx, const std::string& after, Report& report) {
  const Rows rows = tx.query(
      "SELECT o.id, COALESCE(d.request_id, r.donation_id) FROM (SELECT id, subject FROM skald_outbox WHERE type = $1 "
      "AND id > $2 ORDER BY id LIMIT $3) o "
      "LEFT JOIN donation d ON d.request_id = o.subject AND d.event_id = o.id "
      "LEFT JOIN donation_replaced r ON r.event_id = o.id ORDER BY o.id",
      kAccepted, after, kPageRows);
  report.entries += static_cast<std::int64_t>(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows.cell(i, 1).kind == skald::Cell::Kind::null)
      report.note(Kind::ORPHAN_ENTRY, rows.get<std::string>(i, 0), false);
  if (rows.size() < kPageRows) return {Stage::end, ""};
  return {Stage::entries, rows.get<std::string>(rows.size() - 1, 0)};
}

}  // namespace

std::vector<Kind> judge(const Case& found) {
  const Donation& donation = found.donation;
  std::vector<Kind> kinds;
  if (!found.entry) {
    const bool announced = (donation.status == Status::ANNOUNCED || donation.is_untold()) &&
                           donation.outcome_at;  // retention has taken the entry
    const bool dead = donation.status == Status::UNDELIVERED && found.has_dead_letter;
    if (!announced && !dead) kinds.push_back(Kind::MISSING_ENTRY);
    return kinds;
  }
  const skald::Event announced = announcement_of(donation);
  const auto& entry = *found.entry;
  if (entry.payload != announced.payload || entry.subject != announced.subject || entry.key != announced.key ||
      entry.content_hash != donation.content_hash)
    kinds.push_back(Kind::CONTENT_DISAGREES);
  if (donation.status != status_for(entry.status, donation.is_untold()) ||
      donation.outcome_at.has_value() != has_ended(entry.status))
    kinds.push_back(Kind::STATUS_DISAGREES);
  if (entry.status == EntryStatus::DEAD_LETTER && !found.has_dead_letter) kinds.push_back(Kind::UNEXPLAINED_END);
  return kinds;
}

void Report::note(Kind kind, const std::string& id, bool repaired) {
  auto found = std::ranges::find(differences, kind, &Difference::kind);
  if (found == differences.end()) found = differences.insert(differences.end(), Difference{kind, 0, 0, {}});
  ++found->count;
  if (repaired) ++found->repaired;
  if (found->ids.size() < kIdsShown) found->ids.push_back(id);
}

void Report::add(const Report& later) {
  donations += later.donations;
  entries += later.entries;
  for (const Difference& other : later.differences) {
    auto found = std::ranges::find(differences, other.kind, &Difference::kind);
    if (found == differences.end()) found = differences.insert(differences.end(), Difference{other.kind, 0, 0, {}});
    found->count += other.count;
    found->repaired += other.repaired;
    const std::size_t room = kIdsShown - found->ids.size();
    found->ids.insert(found->ids.end(), other.ids.begin(),
                      other.ids.begin() + static_cast<std::ptrdiff_t>(std::min(room, other.ids.size())));
  }
}

std::int64_t Report::found() const {
  std::int64_t sum = 0;
  for (const Difference& difference : differences) sum += difference.count;
  return sum;
}

std::int64_t Report::repaired() const {
  std::int64_t sum = 0;
  for (const Difference& difference : differences) sum += difference.repaired;
  return sum;
}

std::int64_t Report::count_of(Kind kind) const {
  const auto found = std::ranges::find(differences, kind, &Difference::kind);
  return found == differences.end() ? 0 : found->count;
}

Position reconcile_page(Engine& engine, Transaction& tx, const Position& at, const Repairs& repairs, Report& report) {
  switch (at.stage) {
    case Stage::donations: return donations_page(engine, tx, at.after, repairs, report);
    case Stage::entries: return entries_page(tx, at.after, report);
    default: return at;
  }
}

Report reconcile_all(Engine& engine) {
  Report whole;
  for (Position at; at.stage != Stage::end;) {
    Report page;
    Position next;
    engine.database().write("reconcile donations", [&](Transaction& tx) {
      page = Report{};
      next = reconcile_page(engine, tx, at, {.wanted = true}, page);
    });
    whole.add(page);
    at = std::move(next);
  }
  return whole;
}

}  // namespace donation
