// Two or three sessions at one row: inbox, dead letters, API keys, optimistic
// saves, jobs.
#include "dead_letter/undertaker.h"
#include "http/idempotency.h"
#include "interleave/scenario.h"
#include "interleave/worker.h"
#include "outbox/job_board.h"
#include "store/tables/dead_letter.h"
#include "store/tables/inbox.h"
#include "store/tables/outbox.h"

namespace skald::test {

struct Account {
  std::string id;
  std::int64_t amount = 0;
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Account, (), (id, amount, version))

}  // namespace skald::test

template <>
struct skald::Table<skald::test::Account> {
  static constexpr std::string_view name = "account", key = "id";
};

namespace skald::test {
namespace {

// The same event, handled by two sessions at once.
class Duplicate final : public Play {
 public:
  explicit Duplicate(Stage& stage) : stage_(stage) {}
  void run(int session) override {
    stage_.db(session).write("handle", [](Transaction& tx) {
      if (tables::inbox::record(tx, "consumer", "e1")) Stage::put_effect(tx, "e1", kKey);
    });
  }
  std::string verdict() override {
    return stage_.effects() == "e1" ? "" : "effects are '" + stage_.effects() + "', not 'e1'";
  }

 private:
  Stage& stage_;
};

// Operators decide differently about one dead letter: two replay it, one discards it.
class Decisions final : public Play {
 public:
  explicit Decisions(Stage& stage) : stage_(stage) {
    seed_events(stage, {event_of("e1", kKey)});
    stage.admin().write("bury", [](Transaction& tx) {
      const Entry entry = *tables::outbox::find(tx, "e1");
      tables::dead_letter::put(tx, tables::dead_letter::from_entry(entry, "REFUSED", "no", tx.now()));
      tables::outbox::bury(tx, entry, "no");
      tables::dead_letter::block_key(tx, kKey, "e1");
    });
  }
  void run(int session) override {
    Random& random = stage_.env(session).random;
    try {
      stage_.db(session).write("decide", [&](Transaction& tx) {
        if (session == 2) dead_letter::discard(tx, random, "e1", "operator", "");
        else dead_letter::replay(tx, random, "e1", "operator", nullptr);
      });
      ++decided_;
      discarded_ = discarded_ || session == 2;
    } catch (const Conflict&) {
      ++refused_;
    }
  }
  std::string verdict() override {
    if (decided_ != 1 || refused_ != 2)
      return std::to_string(decided_) + " decisions counted, " + std::to_string(refused_) + " were refused";
    const bool live = stage_.count("SELECT live FROM skald_outbox") == 1;
    if (live == discarded_) return live ? "discarded, but to be sent" : "replayed, but never to be sent";
    if (stage_.count("SELECT count(*) FROM skald_blocked_key") != 0) return "its key is still blocked";
    return stage_.count("SELECT count(*) FROM skald_audit") == 1 ? "" : "the audit does not tell of one decision";
  }

 private:
  Stage& stage_;
  std::atomic<int> decided_ = 0, refused_ = 0;
  std::atomic<bool> discarded_ = false;
};

// Two machines have a record of one event, which has died once or a second time: one
// imports it and replays the letter while the other imports.
class Imports final : public Play {
 public:
  Imports(Stage& stage, bool died_before) : stage_(stage) {
    seed_events(stage, {event_of("e1", kKey)});
    stage.admin().write("die", [&](Transaction& tx) {
      const Entry entry = *tables::outbox::find(tx, "e1");
      const auto letter = tables::dead_letter::from_entry(entry, "REFUSED", "no", tx.now());
      if (died_before) {
        tables::dead_letter::put(tx, letter);
        tables::dead_letter::resolve(tx, "e1", tables::dead_letter::State::REPLAYED, "");
      }
      tables::outbox::bury(tx, entry, "no");
      for (int session : {0, 1}) FallbackFile(file_of(session)).append(to_json(letter));
    });
  }
  void run(int session) override {
    dead_letter::import_fallback_file(stage_.env(session), stage_.db(session), file_of(session), "operator");
    if (session == 1) return;
    stage_.db(session).write("replay", [&](Transaction& tx) {
      dead_letter::replay(tx, stage_.env(session).random, "e1", "operator", nullptr);
    });
  }
  std::string verdict() override {
    const bool live = stage_.count("SELECT live FROM skald_outbox") == 1;
    const bool dead = stage_.count("SELECT count(*) FROM skald_dead_letter WHERE state = 'DEAD'") == 1;
    if (live == dead) return live ? "to be sent, and a dead letter as well" : "neither to be sent nor a dead letter";
    return {};
  }

 private:
  std::string file_of(int session) const { return folder_.path() / std::to_string(session); }

  Stage& stage_;
  TemporaryFolder folder_;
};

// One Idempotency-Key from two clients at once, with one body or two, in two processes.
class OneKey : public Play {
 public:
  OneKey(Stage& stage, bool same_body) : stage_(stage), same_body_(same_body) {}
  void run(int session) override {
    Request request;
    request.method = "POST";
    request.path = "/things";
    request.caller = {Role::customer, "kim"};
    request.body = same_body_ ? "{}" : std::to_string(session);
    request.headers["idempotency-key"] = "k";
    try {
      answers_[session] = answer(session, request).body;
    } catch (const Busy&) {
      answers_[session] = "busy";
    } catch (const Invalid& error) {
      answers_[session] = error.code();
    }
  }
  std::string verdict() override {
    const std::string told = "'" + answers_[0] + "' and '" + answers_[1] + "'";
    if (stage_.effects().empty() || stage_.effects().find(' ') != std::string::npos)
      return "one key had the effects '" + stage_.effects() + "' and the answers " + told;
    int answered = 0;
    for (const std::string& answer : answers_) answered += answer != "busy" && answer != "KEY_REUSED";
    if (answered == 0 || (answered == 2 && answers_[0] != answers_[1])) return "one key was answered " + told;
    if (answered == 2 && !same_body_) return "two bodies under one key were answered " + told;
    return stage_.count("SELECT count(*) FROM skald_api_key") == 1 ? "" : "the key was not kept";
  }

 protected:
  virtual Response answer(int session, const Request& request) {
    return http::run_once_per_key(stage_.db(session), in_flight_[session], request,
                                  [&](const Request& r, Transaction& tx) {
                                    Stage::put_effect(tx, "e1", kKey);
                                    return answer_of(session, r);
                                  });
  }
  static Response answer_of(int session, const Request& request) {
    return {201, request.body + " by " + std::to_string(session), "text/plain", {}};
  }

  Stage& stage_;
  http::InFlight in_flight_[2];

 private:
  bool same_body_;
  std::string answers_[2];
};

// The same where the effect is a transaction of its own, which is had once under one id.
class OneAct : public OneKey {
 public:
  using OneKey::OneKey;

 protected:
  Response act(int session, const Request& request, const Handler& handler) {
    return http::act_once_per_key(stage_.db(session), in_flight_[session], stage_.env(session), request, handler);
  }
  Response answer(int session, const Request& request) override {
    return act(session, request, [&](const Request& r) {
      stage_.db(session).write("effect", [&](Transaction& tx) {
        const bool first =
            tx.execute("INSERT INTO account (id, amount, version) VALUES ($1, 0, 0) ON CONFLICT (id) DO NOTHING",
                       r.effect_id) == 1;
        if (first) Stage::put_effect(tx, r.effect_id, kKey);
      });
      return answer_of(session, r);
    });
  }
};

// Session 1 ends without an effect the first time, and comes again: E says nothing of session 0's.
template <class E>
class ActAgain final : public OneAct {
 public:
  explicit ActAgain(Stage& stage) : OneAct(stage, true) {}

 private:
  Response answer(int session, const Request& request) override {
    if (session == 1) {
      try {
        act(session, request, [](const Request&) -> Response { throw E("NOT_NOW", "this time it is nothing"); });
      } catch (const E&) {}
    }
    return OneAct::answer(session, request);
  }
};

class Savers final : public Play {
 public:
  explicit Savers(Stage& stage) : stage_(stage) {
    stage.admin().write("seed", [](Transaction& tx) { tx.insert(Account{"a", 0, 0}); });
  }
  void run(int session) override {
    try {
      stage_.db(session).write("save", [](Transaction& tx) {
        Account account = *tx.find<Account>("a");
        ++account.amount;
        tx.save(account);
      });
      ++saved_;
    } catch (const Stale&) {}
  }
  std::string verdict() override {
    const auto account = stage_.admin().read_result([](Transaction& tx) { return *tx.find<Account>("a"); });
    if (saved_ == 0) return "both were told that they are stale";
    if (account.amount == saved_ && account.version == saved_) return {};
    return std::to_string(saved_) + " were told that they saved, the row says " + std::to_string(account.amount);
  }

 private:
  Stage& stage_;
  std::atomic<int> saved_ = 0;
};

class OneJob final : public Play {
 public:
  explicit OneJob(Stage& stage) : stage_(stage) {}
  void run(int session) override {
    outbox::JobBoard board(stage_.env(session), stage_.db(session));
    board.add({"sweep", 1h, [&] { ++runs_; }});
    board.run_once();
  }
  std::string verdict() override {
    return runs_ == 1 ? "" : "a job ran " + std::to_string(runs_) + " times in its period";
  }

 private:
  Stage& stage_;
  std::atomic<int> runs_ = 0;
};

}  // namespace

void add_row_scenarios(std::vector<Scenario>& out) {
  out.push_back({"inbox", "the same event is handled by three sessions at once", 3, {}, make_play<Duplicate>});
  out.push_back(
      {"dead-letter", "one dead letter is replayed, replayed and discarded at once", 3, {}, make_play<Decisions>});
  out.push_back(
      {"import", "an event is imported and replayed, and imported elsewhere", 2, {}, make_play<Imports, false>});
  out.push_back({"import-again", "the same of one that has died again", 2, {}, make_play<Imports, true>});
  out.push_back(
      {"api-key", "the same request with the same Idempotency-Key twice at once", 2, {}, make_play<OneKey, true>});
  out.push_back({"api-key-reused", "two requests under one Idempotency-Key at once", 2, {}, make_play<OneKey, false>});
  out.push_back({"act-key", "the same of what is no single transaction", 2, {}, make_play<OneAct, true>});
  out.push_back({"act-key-reused", "two such requests under one Idempotency-Key", 2, {}, make_play<OneAct, false>});
  out.push_back(
      {"act-key-given-up", "one of two gives up waiting, and comes again", 2, {}, make_play<ActAgain<LockTimeout>>});
  out.push_back({"act-key-refused", "one of two is refused, and comes again", 2, {}, make_play<ActAgain<NotFound>>});
  out.push_back({"save", "two sessions read a row and save it", 2, {}, make_play<Savers>});
  out.push_back({"job", "three sessions look at a job that is due", 3, {}, make_play<OneJob>});
}

}  // namespace skald::test
