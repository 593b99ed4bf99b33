#include "sim_kit/rehearsal.h"

#include <algorithm>

namespace skald::sim::kit {
namespace {

constexpr int kTurnsMax = 20'000;
constexpr int kHelpMax = 20;
constexpr int kWorkersMax = 3;
constexpr Duration kTogether = 3ms;      // what is due within this may come in any order
constexpr Duration kLease = 3s;
constexpr Duration kAskAgain = 100ms;

std::string name_of(const tables::saga::Row& row) { return row.type + " " + row.id; }

}  // namespace

Rehearsal::Rehearsal(const Scenario& scenario, Script script)
    : stage_(scenario, std::move(script)), chronicle_(stage_) {
  SimRandom* dice = stage_.script.dice();
  for (int left = dice != nullptr ? dice->between(1, kWorkersMax) : 1; left > 0; --left) boot(slots_.emplace_back());
  for (std::size_t i = 0; i < scenario.starts.size(); ++i)
    clients_.push_back({i, now() + between(Duration::zero(), 300ms)});
}

// In an exact run always the lower: nothing is left to chance.
Duration Rehearsal::between(Duration low, Duration high) {
  SimRandom* dice = stage_.script.dice();
  return dice != nullptr ? dice->between(low, high) : low;
}

void Rehearsal::run() {
  for (int turn = 0; stage_.violations.empty(); ++turn) {
    if (turn == kTurnsMax) return stage_.violate("it did not come to an end" + unfinished());
    if (step()) continue;
    for (const auto& arrive : stage_.late) arrive();
    check_end(stage_);
    stage_.check(stage_.scenario.check);
    return;
  }
}

bool Rehearsal::step() {
  std::vector<std::pair<Instant, std::function<void()>>> next;
  for (Client& client : clients_)
    if (!client.told) next.emplace_back(client.due, [&] { ask(client); });
  for (Slot& slot : slots_) next.emplace_back(slot.due, [&] { work(slot); });
  const Instant first = std::ranges::min_element(next, {}, [](const auto& one) { return one.first; })->first;
  if (first > now()) {
    const auto rows = live();
    if (rows.empty() && all_told()) return false;
    if (attend(rows)) return true;
  }
  stage_.timeline.advance_to(first);
  SimRandom* dice = stage_.script.dice();
  const Instant until = now() + (dice != nullptr ? kTogether : Duration::zero());
  std::erase_if(next, [&](const auto& one) { return one.first > until; });
  (dice != nullptr ? dice->pick(next) : next.front()).second();
  return true;
}

void Rehearsal::boot(Slot& slot) {
  slot.worker = std::make_unique<Worker>(stage_, chronicle_, "worker-" + std::to_string(++boots_));
  stage_.note(slot.worker->id() + " starts");
  slot.due = now();
  if (slot.died.empty()) return;
  outside("take over", [&](Transaction& tx) { tables::saga::release_all(tx, slot.died, true); });
  slot.died.clear();
  wake_all();
}

void Rehearsal::outside(std::string_view name, const Database::Body& body) {
  stage_.disk.write(name, [&](Transaction& tx) {
    body(tx);
    chronicle_.changes(tx);
  });
  chronicle_.committed();
}

void Rehearsal::wake_all() {
  for (Slot& slot : slots_) {
    if (!slot.worker) continue;
    slot.worker->runner().note_due(Duration::zero());
    slot.due = now();
  }
}

void Rehearsal::inside(Slot& slot, const std::function<void()>& body) {
  try {
    body();
  } catch (const Crash&) {
    stage_.note(slot.worker->id() + " dies");
    slot.died = slot.worker->id();
    slot.worker.reset();
    slot.due = now() + between(kLease, 2 * kLease);
  }
}

void Rehearsal::work(Slot& slot) {
  if (!slot.worker) return boot(slot);
  inside(slot, [&] { slot.due = now() + slot.worker->turn(); });
}

Rehearsal::Slot* Rehearsal::anybody() {
  std::vector<Slot*> able;
  for (Slot& slot : slots_)
    if (slot.worker) able.push_back(&slot);
  if (able.empty()) return nullptr;
  SimRandom* dice = stage_.script.dice();
  return dice != nullptr ? dice->pick(able) : able.front();
}

// A client that was told nothing looks first, and starts what is not there.
void Rehearsal::ask(Client& client) {
  client.due = now() + kAskAgain;
  Slot* slot = anybody();
  if (slot == nullptr) return;
  const Start& start = stage_.scenario.starts[client.start];
  const std::string& id = stage_.ids[client.start];
  stage_.look([&](Transaction& tx) { client.told = tables::saga::find(tx, id).has_value(); });
  if (client.told) return;
  StartOptions options = start.options;
  options.id = id;
  inside(*slot, [&] {
    try {
      const auto& definition = stage_.registry.all().at({start.definition.type, start.definition.version});
      slot->worker->runner().start(definition, start.state(), options);
      client.told = true;
    } catch (const Conflict&) {
      client.told = true;  // another saga of its key runs: it was refused, as it asked for
    } catch (const Error& error) {
      stage_.note(std::string("  a client is told: ") + error.what());
    }
  });
  if (slot->worker) slot->due = now();
}

std::string Rehearsal::unfinished() {
  std::string out;
  for (const auto& row : live())
    out += ": " + name_of(row) + " is " + std::string(enum_name(row.status)) + " at '" +
           saga::view_of(row, stage_.registry).step + "'";
  return out;
}

bool Rehearsal::all_told() const { return std::ranges::all_of(clients_, &Client::told); }

std::vector<tables::saga::Row> Rehearsal::live() {
  std::vector<tables::saga::Row> rows;
  stage_.look([&](Transaction& tx) {
    rows = tables::saga::list(tx, {.status = {}, .type = {}, .key = {}, .after = {}, .limit = 1000});
  });
  std::erase_if(rows, [](const auto& row) { return has_ended(row.status); });
  return rows;
}

bool Rehearsal::attend(const std::vector<tables::saga::Row>& live) {
  return std::ranges::any_of(live, [&](const auto& row) {
    if (row.status == SagaStatus::NEEDS_HELP) return help(row);
    return row.status == SagaStatus::WAITING && send_signal(row);
  });
}

bool Rehearsal::send_signal(const tables::saga::Row& row) {
  Slot* slot = anybody();
  const std::string at = saga::view_of(row, stage_.registry).step;
  if (slot == nullptr || signalled_[row.id] == at) return false;
  const auto& steps = stage_.registry.all().at({row.type, row.revision}).steps;
  const auto step = std::ranges::find(steps, at, &saga::Step::name);
  const auto& signals = stage_.scenario.signals;
  const auto signal = std::ranges::find(signals, step->signal, &Scenario::Signal::name);
  if (step->kind != saga::Kind::await || signal == signals.end()) return false;
  stage_.note("the signal '" + signal->name + "' is sent to " + row.id);
  outside("signal", [&](Transaction& tx) {
    slot->worker->runner().signal(tx, row.id, signal->name, signal->payload, "sim-" + at);
  });
  signalled_[row.id] = at;
  wake_all();
  return true;
}

// One fault at a time never needs a person; several by chance may.
bool Rehearsal::help(const tables::saga::Row& row) {
  Slot* slot = anybody();
  if (slot == nullptr) return false;
  if (stage_.script.dice() == nullptr || ++helped_[row.id] > kHelpMax) {
    stage_.violate(name_of(row) + " needs help at '" + saga::view_of(row, stage_.registry).step +
                   "': " + row.error_code + ", " + row.error_message);
    return true;
  }
  stage_.note("a person lets " + row.id + " try again");
  outside("help", [&](Transaction& tx) { slot->worker->runner().retry(tx, row.id); });
  wake_all();
  return true;
}

}  // namespace skald::sim::kit
