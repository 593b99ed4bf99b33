// One key, three requests in two processes, in every order in which they can begin and end, each with every end that a
// request can come to: never more than one effect, and all who are answered are told the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <future>
#include <set>

#include "http/fake_env.h"
#include "http/idempotency.h"
#include "http/keyed_request.h"
#include "support/test_database.h"

namespace skald::http {
namespace {

enum class End {
  answers,    // its effect is there, and it says so
  refuses,    // it has no effect
  times_out,  // it waited for row locks, and nothing is known of others under its id
  dies        // its effect is there, and nobody is told
};
using Ends = std::array<End, 3>;

// A request that stops in its handler until it is told to go on.
class Player {
 public:
  Player(Database& db, InFlight& process, Env env, const Request& request, End end)
      : db_(db), process_(process), env_(env), request_(request), end_(end) {}

  // Until it is in its handler, or has ended before.
  void begin() {
    answer_ = std::async(std::launch::async, [this] { return act(); });
    entered_.get_future().wait();
  }
  // What it was answered; empty: nothing.
  std::string end() {
    go_.set_value();
    return answer_.get();
  }

 private:
  std::string act() {
    std::string answer;
    try {
      answer = act_once_per_key(db_, process_, env_, request_, [this](const Request& r) { return handle(r); }).body;
    } catch (const std::exception&) {}
    enter();
    return answer;
  }
  void enter() {
    if (!std::exchange(inside_, true)) entered_.set_value();
  }
  Response handle(const Request& request) {
    enter();
    go_.get_future().wait();
    if (end_ == End::refuses) throw NotFound("NOT_THERE", "no");
    if (end_ == End::times_out) throw LockTimeout("LOCK_TIMEOUT", "too long");
    db_.write("effect", [&](Transaction& tx) {
      tx.execute("INSERT INTO effect (id, key) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", request.effect_id,
                 request.header("idempotency-key"));
    });
    if (end_ == End::dies) throw std::runtime_error("the process dies");
    return {202, request.effect_id, "text/plain", {}};
  }

  Database& db_;
  InFlight& process_;
  Env env_;
  const Request request_;
  const End end_;
  bool inside_ = false;
  std::promise<void> entered_, go_;
  std::future<std::string> answer_;
};

class ThreeRequests : public testing::TestWithParam<Dialect> {
 protected:
  ThreeRequests() {
    if (GetParam() == Dialect::sqlite) memory_ = open_sqlite(fake_.env, {.path = ":memory:"});
    else server_ = test::TestDatabase::postgres(fake_.env);
    migrate_api_keys(db());
    db().write("schema", [](Transaction& tx) { tx.execute("CREATE TABLE effect (id TEXT PRIMARY KEY, key TEXT)"); });
  }
  Database& db() { return memory_ ? *memory_ : **server_; }

  // `order` names each request twice: where it begins, and where it ends.
  void play(const Ends& ends, const std::string& order) {
    const std::string key = "k" + std::to_string(plays_++);
    std::array<InFlight, 2> processes;
    std::array<std::unique_ptr<Player>, 3> players;
    std::set<std::string> answers;
    for (const char name : order) {
      const auto i = static_cast<std::size_t>(name - '0');
      if (players[i] == nullptr) {
        players[i] = std::make_unique<Player>(db(), processes[i % 2], fake_.env, request_with(key), ends[i]);
        players[i]->begin();
      } else if (const std::string answer = players[i]->end(); !answer.empty()) {
        answers.insert(answer);
      }
    }
    const auto effects = db().read_result([&](Transaction& tx) {
      return tx.query("SELECT COUNT(*) FROM effect WHERE key = $1", key).get<std::int64_t>(0, 0);
    });
    EXPECT_LE(effects, 1) << told(ends, order);
    EXPECT_LE(answers.size(), 1u) << told(ends, order);
  }
  // Requests 0 and 2 go to one process: where they end alike, too, only their names tell them apart.
  void play_every_order(const Ends& ends) {
    std::string order = "001122";
    do {
      if (ends[0] != ends[2] || order.find('0') < order.find('2')) play(ends, order);
    } while (std::ranges::next_permutation(order).found && !HasFailure());
  }
  static std::string told(const Ends& ends, const std::string& order) {
    static constexpr std::array names = {"answers", "refuses", "times out", "dies"};
    std::string out = "order " + order;
    for (std::size_t i = 0; i < ends.size(); ++i)
      out += std::string("; ") + std::to_string(i) + " " + names[static_cast<std::size_t>(ends[i])];
    return out;
  }

  FakeEnv fake_;
  std::unique_ptr<Database> memory_;
  std::unique_ptr<test::TestDatabase> server_;
  int plays_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Both, ThreeRequests, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& given) { return given.param == Dialect::sqlite ? "SQLite" : "PostgreSQL"; });

// A server's commits cost more: there the ends that have gone wrong once, and those of what was given up before.
TEST_P(ThreeRequests, HaveOneEffectInEveryOrderAndWhateverTheyComeTo) {
  constexpr std::array all = {End::answers, End::refuses, End::times_out, End::dies};
  if (GetParam() == Dialect::postgres) {
    play_every_order({End::answers, End::times_out, End::answers});
    play_every_order({End::dies, End::times_out, End::answers});
    play_every_order({End::answers, End::refuses, End::answers});
    return;
  }
  for (const End first : all)
    for (const End second : all)
      for (const End third : all)
        if (first <= third && !HasFailure()) play_every_order({first, second, third});
  EXPECT_EQ(plays_, HasFailure() ? plays_ : 24 * 90 + 16 * 45);
}

}  // namespace
}  // namespace skald::http
