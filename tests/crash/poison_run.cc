#include "crash/poison_run.h"

#include <boost/json/serialize.hpp>
#include <set>

#include "crash/scene.h"
#include "skald/http.h"

namespace skald::crash {
namespace {

constexpr int kInnocents = 20, kWorkers = 4;
constexpr Duration kParkedWithin = 90s, kInnocentWithin = 60s;

class PoisonedRun {
 public:
  explicit PoisonedRun(const PoisonSetup& setup) : setup_(setup), scene_(setup.dialect, kPace) {
    const int count = setup.dialect == Dialect::sqlite ? 1 : kWorkers;
    for (int i = 0; i < count; ++i) processes_.push_back(scene_.start({}, i));
  }

  PoisonReport run() {
    const auto begun = std::chrono::steady_clock::now();
    offer(*processes_[0], "lamp", 1000);
    scene_.behave({.latency_ms = 500});
    for (int i = 0; i < kInnocents; ++i) place();
    poison();
    if (!until([&] { return is_parked(); }, kParkedWithin)) fault("what kills is not parked");
    if (!until([&] { return innocents_ended(); }, kInnocentWithin)) fault("what is innocent has not ended");
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    judge();
    return report_;
  }

 private:
  // A worker that stands still for a whole lease is taken for dead: long enough for a machine that hesitates.
  static constexpr Pace kPace{.lease_ms = 1500, .beat_ms = 250};

  void fault(const std::string& what) { report_.faults.push_back(what); }
  bool poisons_saga() const { return setup_.what != Poisoned::handler; }

  void place() {
    const auto answer = processes_[0]->ask("POST", "/order/orders", R"({"sku":"lamp","quantity":1})");
    if (answer && answer->status == 202) orders_.insert(from_json<order::OrderView>(answer->body).id);
    else fault("an order was not placed: " + (answer ? answer->body : "no answer"));
  }

  // Often it has no answer: the process is dead.
  void poison() {
    if (poisons_saga()) processes_[0]->ask("POST", "/test/poison", to_json(Poison{"p", setup_.how, setup_.what}));
    else processes_[0]->ask("POST", "/test/poison-event", to_json(PoisonEvent{setup_.how, kInnocents}));
  }

  // The dead are started again at once.
  void tend() {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (!processes_[i]->ended()) continue;
      ++report_.deaths;
      processes_[i] = scene_.start({}, static_cast<int>(i));
    }
  }

  // From the first that answers so; empty otherwise.
  std::vector<boost::json::value> items(const std::string& target) {
    tend();
    for (const auto& process : processes_) {
      const auto answer = process->ask("GET", target);
      if (!answer || answer->status != 200) continue;
      const auto found = answer->json().at("items").as_array();
      return {found.begin(), found.end()};
    }
    return {};
  }
  static std::string text(const boost::json::value& item, const char* member) {
    const auto* found = item.as_object().if_contains(member);
    return found != nullptr && found->is_string() ? std::string(found->as_string()) : "";
  }

  bool is_parked() {
    return !items(poisons_saga() ? "/api/sagas?status=NEEDS_HELP&type=" + poison_type()
                                 : "/api/dead-letters?type=" + poison_type())
                .empty();
  }
  std::string poison_type() const { return setup_.what == Poisoned::local_step ? kPoisonLocalType : kPoisonType; }

  // A call whose result could not be stored, because the next step killed that transaction, is the step in hand.
  std::string poison_step() const { return setup_.what == Poisoned::local_step ? "pass" : "crash"; }

  bool innocents_ended() {
    std::size_t confirmed = 0;
    for (const auto& order : items("/order/orders?status=CONFIRMED&limit=200"))
      confirmed += orders_.contains(text(order, "id")) ? 1 : 0;
    return confirmed == orders_.size() &&
           (poisons_saga() ||
            items("/api/outbox?status=COMPLETED&limit=200&type=" + std::string(kInnocentType)).size() ==
                static_cast<std::size_t>(kInnocents));
  }

  void judge() {
    tend();
    const bool told = can_be_told(setup_.how);
    if (told ? report_.deaths != kDeathsTold : report_.deaths > kDeathsMax)
      fault("it took " + std::to_string(report_.deaths) + " processes with it, " +
            (told ? "not " + std::to_string(kDeathsTold) : "more than " + std::to_string(kDeathsMax)));
    for (const auto& saga : items("/api/sagas?status=NEEDS_HELP&limit=200"))
      if (!poisons_saga() || text(saga, "type") != poison_type() || text(saga.at("error"), "code") != "CRASHED" ||
          text(saga, "step") != poison_step())
        fault("a saga needs help: " + boost::json::serialize(saga));
    for (const auto& letter : items("/api/dead-letters?limit=200"))
      if (poisons_saga() || text(letter, "type") != poison_type() || text(letter, "reason") != "CRASHED")
        fault("an event is a dead letter: " + boost::json::serialize(letter));
    // A saga keeps what it holds until a person has decided.
    const std::size_t locks = poisons_saga() ? 1 : 0;
    if (items("/api/locks").size() != locks) fault("other locks are held than the one of what kills");
    if (scene_.charges().size() != orders_.size()) fault("not every order was charged once");
  }

  const PoisonSetup setup_;
  Scene scene_;
  std::vector<std::unique_ptr<ServedProcess>> processes_;
  std::set<std::string> orders_;
  PoisonReport report_;
};

}  // namespace

std::string PoisonSetup::name() const {
  return std::string(dialect == Dialect::sqlite ? "SQLite" : "PostgreSQL") + " " + std::string(enum_name(what)) + " " +
         std::string(enum_name(how));
}

PoisonReport run_poisoned(const PoisonSetup& setup) { return PoisonedRun(setup).run(); }

}  // namespace skald::crash
