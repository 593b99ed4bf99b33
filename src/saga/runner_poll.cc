// Runner: finding what is due.
#include <algorithm>

#include "env/seam.h"
#include "saga/runner.h"

namespace skald::saga {
namespace {

namespace blame = tables::blame;
using blame::kDeathsAlone;
using blame::kDeathsGrouped;

constexpr std::size_t kInHandMax = 1024;
constexpr std::size_t kClaimMax = 64;
// Suspects without a place look again after a moment of chance: so each death finds another one alone.
constexpr Duration kPutOff = 20ms, kPutOffMax = 1s;

}  // namespace

std::vector<std::string> Runner::definitions() const {
  std::vector<std::string> out;
  for (const auto& [name, definition] : registry_.all())
    out.push_back(tables::saga::definition_name(name.first, name.second));
  return out;
}

void Runner::put_off_suspects(Transaction& tx, std::vector<tables::saga::Row>& claimed, Suspects& admitted) {
  admitted.clear();
  std::vector<std::string> alone;
  std::int64_t suspects = 0;
  for (const auto& row : claimed) {
    suspects += row.take_overs >= kDeathsGrouped;
    if (row.take_overs >= kDeathsAlone) alone.push_back(row.id);
  }
  if (suspects == 0) return;
  const auto blames = blame::find(tx, blame::Kind::saga, alone);
  // What is condemned is parked, and harms nobody: it needs no place.
  const auto is_condemned = [&](const std::string& id) {
    const auto found = blames.find(id);
    return found != blames.end() && found->second.is_condemned();
  };
  std::erase_if(alone, is_condemned);
  const bool place_alone = !has_one_alone();
  std::size_t places_grouped = blame::kGroup;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, suspect] : suspects_)
      if (!suspect.alone) --places_grouped;
  }
  std::string chosen = place_alone && !alone.empty() ? alone[env_.random.next() % alone.size()] : "";
  if (!chosen.empty() && !blame::mark(tx, blame::Kind::saga, chosen, claimed[0].owner)) chosen.clear();
  const Duration spread = std::min(kPutOffMax, kPutOff * suspects);
  std::erase_if(claimed, [&](const tables::saga::Row& row) {
    if (row.take_overs < kDeathsGrouped) return false;
    const bool goes_alone = row.take_overs >= kDeathsAlone;
    const bool condemned = is_condemned(row.id);
    const bool has_place = condemned || (goes_alone ? row.id == chosen : places_grouped > 0);
    if (!has_place) {
      const Duration chance(env_.random.next() % static_cast<std::uint64_t>(spread.count()));
      tables::saga::put_off(tx, row.id, tx.now() + kPutOff + chance);
      return true;
    }
    if (!goes_alone) --places_grouped;
    const auto found = blames.find(row.id);
    admitted.emplace(row.id, Suspect{.alone = goes_alone,
                                     .deaths = row.take_overs,
                                     .blame = found == blames.end() ? blame::Blame{} : found->second});
    return false;
  });
}

Runner::Suspects Runner::expired_suspects() {
  const Instant now = env_.clock.steady();
  Suspects out;
  std::lock_guard lock(mutex_);
  for (const auto& [id, suspect] : suspects_)
    if (suspect.until <= now) out.emplace(id, suspect);
  return out;
}

bool Runner::has_one_alone() {
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(suspects_, [](const auto& one) { return one.second.alone; });
}

bool Runner::look_sooner(Duration in) {
  const std::int64_t at = ticks(env_.clock.steady() + std::min(in, kIdleMax));
  std::int64_t known = next_look_.load();
  while (at < known && !next_look_.compare_exchange_weak(known, at)) {}
  return at < known;
}

void Runner::look_at(Duration in) {
  if (look_sooner(in) && hooks_.wake_poll) hooks_.wake_poll();
}

void Runner::note_due(Duration in) { look_at(std::max(in, Duration::zero())); }

Duration Runner::poll() {
  const std::string worker = hooks_.worker();
  if (worker.empty() || draining_) return 1s;
  const auto now = ticks(env_.clock.steady());
  if (next_look_ > now) return Duration(next_look_ - now);
  std::size_t room = 0;
  {
    std::lock_guard lock(mutex_);
    room = std::min(kClaimMax, kInHandMax - std::min(kInHandMax, ready_.size()));
  }
  if (room == 0) return 10ms;
  next_look_ = ticks(env_.clock.steady() + kIdleMax);
  const std::vector<std::string> known = definitions();
  std::vector<tables::saga::Row> claimed;
  std::optional<Time> next;
  Time at{};
  const bool adrift = adrift_.exchange(false);
  Suspects admitted;
  const Suspects expired = expired_suspects();
  const bool lifts =
      std::ranges::any_of(expired, [](const auto& one) { return one.second.alone; }) || (adrift && !has_one_alone());
  try {
    db_.write("claim sagas", [&](Transaction& tx) {
      if (lifts) blame::lift_kind(tx, blame::Kind::saga, worker);
      if (adrift && seam::holds(seam::Rule::lost_claims_released)) tables::saga::release_others(tx, worker, held());
      claimed = tables::saga::claim_due(tx, worker, known, room);
      put_off_suspects(tx, claimed, admitted);
      next = tables::saga::next_wake(tx, known);
      at = tx.now();
    });
  } catch (...) {
    adrift_ = true;
    look_sooner(kPauseAfterError);
    throw;
  }
  if (next) look_sooner(std::max<Duration>(*next - at, Duration::zero()));
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, suspect] : expired) suspects_.erase(id);
    for (const auto& [id, suspect] : admitted)
      if (!suspect.blame.is_condemned()) suspects_.insert({id, suspect});
    for (const auto& [id, suspect] : suspects_) look_sooner(suspect.until - env_.clock.steady());
  }
  for (const auto& row : claimed) {
    const auto suspect = admitted.find(row.id);
    take_in_hand(row, suspect == admitted.end() ? blame::Blame{} : suspect->second.blame);
  }
  return std::max<Duration>(Duration(next_look_ - ticks(env_.clock.steady())), Duration::zero());
}

// One that nobody can make sense of is a person's, and stands in no other's way.
void Runner::take_in_hand(const tables::saga::Row& row, const blame::Blame& blame) {
  Handle saga;
  try {
    saga = load(row);
    saga->blame = blame;
  } catch (const std::exception& error) {
    park_unreadable(row, error.what());
    return;
  }
  put_back(std::move(saga), After::go_on);
}

void Runner::give_back_ready() {
  std::vector<std::string> ids;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(ready_, [&](const Ready& ready) {
      const std::string& id = ready.saga->row.id;
      if (suspects_.contains(id)) return false;
      ids.push_back(id);
      return true;
    });
    for (const std::string& id : ids) held_.erase(id);
  }
  const std::string worker = hooks_.worker();
  if (ids.empty() || worker.empty()) return;
  db_.write("give sagas back", [&](Transaction& tx) { tables::saga::release(tx, worker, ids); });
  if (hooks_.announce) hooks_.announce();
}

void Runner::park_unreadable(tables::saga::Row row, const std::string& why) {
  trust(row.id);
  adrift_ = true;  // it may be marked still
  env_.observer.log(Observer::Level::error, "a saga cannot be read and needs help",
                    "\"tag\":\"[Saga]\",\"sagaId\":" + to_json(row.id) + ",\"error\":" + to_json(why));
  try {
    db_.write("park a saga that cannot be read", [&](Transaction& tx) {
      if (!tables::saga::hold(tx, row.id, row.owner, row.fence)) return;
      tables::saga::Row parked = row;
      parked.status = SagaStatus::NEEDS_HELP;
      parked.owner.clear();
      parked.error_code = "UNREADABLE";
      parked.error_message = why;
      parked.log.clear();
      tables::saga::update(tx, parked);
    });
    env_.observer.count("sagas_parked_total");
  } catch (const Error&) {
    adrift_ = true;  // given back, and tried again
    look_sooner(kPauseAfterError);
  }
}

}  // namespace skald::saga
