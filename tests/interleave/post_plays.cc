// Letters between services: two workers that settle one lane, and letters of one lane that land at once.
#include <algorithm>
#include <deque>

#include "interleave/scenario.h"
#include "interleave/worker.h"
#include "outbox/lander.h"
#include "post/sender.h"
#include "store/tables/chain.h"

namespace skald::test {
namespace {

constexpr int kRounds = 40, kStubborn = 4;
constexpr char kThere[] = "there";

// The other service, as the protocol wants it: one place for all who ask. Thread safe.
class ModelReceiver {
 public:
  Receipt accept(const Letter& letter) {
    const std::lock_guard lock(mutex_);
    if (letter.number == place_.number + 1 && letter.former == place_.chain) {
      former_ = place_.chain;
      ids_ = letter.ids;
      place_ = {letter.number, tables::next_chain(letter.former, letter.ids)};
      landed_.insert(landed_.end(), ids_.begin(), ids_.end());
    }
    const bool has_it = letter.number == place_.number;
    return {has_it ? Receipt::Kind::landed : Receipt::Kind::gap, place_.number, place_.chain, former_, ids_};
  }
  Knowledge answer(const Inquiry& inquiry) {
    const std::lock_guard lock(mutex_);
    Knowledge out{{{partition_of(kKey), place_}}, {}, {}};
    for (const std::string& id : inquiry.ids)
      if (std::ranges::find(landed_, id) != landed_.end()) out.ids.push_back(id);
    return out;
  }
  std::string landed() {
    std::string out;
    for (const std::string& id : landed_) out += (out.empty() ? "" : " ") + id;
    return out;
  }
  const LanePlace& place() const { return place_; }

 private:
  std::mutex mutex_;
  LanePlace place_;
  std::string former_;
  std::vector<std::string> ids_, landed_;
};

// Brings letters to it, and the answers, at the next poll.
class ModelCourier final : public Courier {
 public:
  explicit ModelCourier(ModelReceiver& receiver) : receiver_(receiver) {}
  void send(const std::string&, Letter letter, Answered answered) override {
    waiting_.push_back([this, letter = std::move(letter), answered = std::move(answered)] {
      answered({Answer::Kind::receipt, receiver_.accept(letter)});
    });
  }
  void ask(const std::string&, Inquiry inquiry, Known known) override {
    waiting_.push_back(
        [this, inquiry = std::move(inquiry), known = std::move(known)] { known(receiver_.answer(inquiry)); });
  }
  void poll(Duration, std::span<const int>) override {
    for (const auto& one : std::exchange(waiting_, {})) one();
  }

 private:
  ModelReceiver& receiver_;
  std::deque<std::function<void()>> waiting_;
};

// One that sends.
struct Correspondent {
  Correspondent(Stage& stage, int session, ModelReceiver& receiver, SendLog& sends)
      : worker(stage, session, Worker::Kind::handles, sends),
        courier(receiver),
        sender(stage.env(session), stage.db(session), worker.membership(), worker.routing(), worker.options(),
               [this](std::string_view code, std::string_view) { alerts.emplace_back(code); }) {
    sender.set_courier(courier);
  }
  void work() {
    for (int i = 0; i < kRounds && sender.run_once() == Duration::zero(); ++i) {}
  }
  // As one that was stopped, and does not know yet that others have its work: what fails it tries again.
  void go_on() {
    for (int i = 0; i < kStubborn; ++i) sender.run_once();
  }

  Worker worker;
  ModelCourier courier;
  std::vector<std::string> alerts;
  post::Sender sender;
};

// Session 0 has a letter with e1 on its way when session 1 takes its partition over, and e2 is there by then.
class SettleAgainstTakeOver final : public Play {
 public:
  explicit SettleAgainstTakeOver(Stage& stage)
      : stage_(stage), before_(stage, 0, receiver_, sends_), after_(stage, 1, receiver_, sends_) {
    stage.admin().write("subscribe", [](Transaction& tx) {
      for (const auto& row : tables::subscriber::all(tx)) tables::subscriber::remove(tx, row.name);  // with its index
      tables::subscriber::put(tx, {.name = kThere, .types = {kType}});
    });
    before_.worker.membership().run_once();
    const Duration half = before_.worker.options().lease / 2;
    for (int round = 0; round < 2; ++round) {
      after_.worker.membership().run_once();
      stage.clock(1).move(half);
    }
    before_.work();  // compares places, so that only the letter is left
    seed_events(stage, {event_of("e1", kKey)});
    before_.sender.wake(~std::uint64_t{0});
    before_.sender.run_once();
    seed_events(stage, {event_of("e2", kKey)});
    before_.sender.wake(~std::uint64_t{0});
  }

  void run(int session) override {
    if (session == 0) return before_.go_on();
    after_.worker.beat();
    after_.work();
    stage_.clock(1).move(100ms);  // what waited for others is settled, too
    after_.work();
  }

  std::string verdict() override {
    for (int i = 0; i < kRounds && is_owed(); ++i) {
      stage_.clock(1).move(1s);
      after_.worker.beat();
      after_.sender.wake(~std::uint64_t{0});
      after_.work();
    }
    if (receiver_.landed() != "e1 e2") return "landed are '" + receiver_.landed() + "', not 'e1 e2'";
    if (is_owed()) return "something is owed for ever";
    if (stage_.count("SELECT sum(number)::bigint FROM skald_lane") != receiver_.place().number)
      return "the lane is at another number than its receiver";
    if (!before_.alerts.empty() || !after_.alerts.empty()) return "a person was told of a gap that is none";
    return {};
  }

 private:
  bool is_owed() { return stage_.count("SELECT count(*) FROM skald_outbox WHERE owed <> 0") != 0; }

  Stage& stage_;
  SendLog sends_;
  ModelReceiver receiver_;
  Correspondent before_, after_;
};

// A process of the service that gets the letters.
struct Recipient {
  Recipient(Stage& stage, int session, SendLog& sends)
      : worker(stage, session, Worker::Kind::handles, sends),
        undertaker(stage.env(session), stage.db(session), nullptr, [](std::string_view, std::string_view) {}),
        lander(stage.env(session), stage.db(session), worker.membership(), worker.routing(), worker.relay(), undertaker,
               worker.options(), [](std::uint64_t) {}) {}

  Worker worker;
  dead_letter::Undertaker undertaker;
  outbox::Lander lander;
};

Letter letter_of(std::int64_t number, const std::string& former, const std::vector<std::string>& ids) {
  Letter letter{"the sender", partition_of(kKey), number, former, false, ids, {}};
  for (const std::string& id : ids)
    letter.events.push_back({event_of(id, kKey), "/sender", from_micros(1'800'000'000'000'000), 1, false});
  return letter;
}

// Under one number a stopped worker has sent e1, and its successor e1 and e2; a third letter goes on behind the first of
// them. Session 0 owns the partition.
class LandingAgainstLanding final : public Play {
 public:
  explicit LandingAgainstLanding(Stage& stage)
      : stage_(stage),
        recipients_{Recipient(stage, 0, sends_), Recipient(stage, 1, sends_), Recipient(stage, 2, sends_)} {
    recipients_[0].worker.membership().run_once();
    recipients_[0].worker.work();
  }

  void run(int session) override {
    const Letter letters[] = {letter_of(1, "", {"e1"}), letter_of(1, "", {"e1", "e2"}),
                              letter_of(2, tables::next_chain("", std::vector<std::string>{"e1"}), {"e3"})};
    receipts_[session] = recipients_[session].lander.accept(std::span(&letters[session], 1)).front();
  }

  std::string verdict() override {
    recipients_[0].worker.relay().wake(~std::uint64_t{0});
    recipients_[0].worker.work();
    const bool short_one = stage_.count("SELECT count(*) FROM skald_outbox WHERE id = 'e2'") == 0;
    const bool third = receipts_[2].kind == Receipt::Kind::landed;
    if (third && !short_one) return "a letter landed behind a chain that is not its own";
    const std::string wanted = !short_one ? "e1 e2" : third ? "e1 e3" : "e1";
    if (stage_.effects() != wanted) return "effects are '" + stage_.effects() + "', not '" + wanted + "'";
    const std::vector<std::string> first =
        short_one ? std::vector<std::string>{"e1"} : std::vector<std::string>{"e1", "e2"};
    for (const Receipt& receipt : {receipts_[0], receipts_[1]}) {
      const bool behind = receipt.kind == Receipt::Kind::gap && third && receipt.last == 2;
      if (!behind && (receipt.kind != Receipt::Kind::landed || receipt.ids != first))
        return "a receipt names other events than those that landed under its number";
    }
    return {};
  }

 private:
  Stage& stage_;
  SendLog sends_;
  Recipient recipients_[3];
  Receipt receipts_[3];
};

}  // namespace

void add_post_scenarios(std::vector<Scenario>& out) {
  out.push_back(
      {"post_settle", "a letter is settled while its lane is taken over", 2, {}, make_play<SettleAgainstTakeOver>});
  out.push_back(
      {"post_land", "letters of one lane land at once, two under one number", 3, {}, make_play<LandingAgainstLanding>});
}

}  // namespace skald::test
