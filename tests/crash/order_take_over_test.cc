// Workers that die or stop while a saga is in their hands.
#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>

#include "crash/scene.h"
#include "skald/http.h"

namespace skald::crash {
namespace {

using order::Status;
using std::chrono::steady_clock;

bool is_stopped(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t name_end = stat.rfind(')');
  return name_end != stat.npos && stat.substr(name_end + 2, 1) == "T";
}

bool has_become(const ServedProcess& process, const std::string& id, Status status) {
  const auto order = order_at(process, id);
  return order && order->status == status;
}

std::string place(const ServedProcess& process, const std::string& more = "") {
  const auto answer = process.ask("POST", "/order/orders", R"({"sku":"lamp","quantity":1)" + more + "}");
  if (!answer || answer->status != 202)
    throw std::runtime_error("not placed: " + (answer ? answer->body : "no answer"));
  return from_json<order::OrderView>(answer->body).id;
}

// Two workers on one PostgreSQL, with the leases that the program has.
class TakeOver : public testing::Test {
 protected:
  TakeOver() { offer(*other_, "lamp", 100); }

  double seconds_until_confirmed(const std::string& id, Duration patience) {
    const auto begun = steady_clock::now();
    EXPECT_TRUE(until([&] { return has_become(*other_, id, Status::CONFIRMED); }, patience)) << "not taken over";
    const double took = std::chrono::duration<double>(steady_clock::now() - begun).count();
    std::printf("taken over and finished after %.1f s\n", took);
    return took;
  }
  // Every row that a saga writes, and what the provider has written.
  std::string everything() {
    const auto clock = system_clock();
    const auto random = system_random();
    const auto db = open_postgres({*clock, *random, silent_observer()}, {.url = scene_.database(), .connections = 1});
    std::string out = to_json(scene_.charges());
    db->read([&](Transaction& tx) {
      for (const char* table : {"skald_saga", "skald_lock", "order_record", "order_product", "order_reservation",
                                "order_payment", "order_history"})
        out += "\n" + tx.query(std::string("SELECT COALESCE(string_agg(t::text, ' | ' ORDER BY t::text), '') FROM ") +
                               table + " t")
                          .get<std::string>(0, 0);
    });
    return out;
  }
  // The stopped worker goes on, finds that its saga is another's, and works again.
  void wake_and_expect_nothing_changed(const std::string& before) {
    worker_->signal(SIGCONT);
    EXPECT_TRUE(until([&] {
      const auto metrics = worker_->ask("GET", "/metrics");
      return metrics && metrics->body.find("skald_sagas_lost_to_others_total 1") != std::string::npos;
    })) << "it has not noticed";
    EXPECT_EQ(everything(), before);
    const std::string id = place(*worker_);
    EXPECT_TRUE(until([&] { return has_become(*worker_, id, Status::CONFIRMED); }));
    EXPECT_THAT(what_is_wrong(*other_), testing::IsEmpty());
    EXPECT_EQ(scene_.charges().size(), 2u);
  }

  Scene scene_{Dialect::postgres, {}};
  std::unique_ptr<ServedProcess> other_ = scene_.start();
  std::unique_ptr<ServedProcess> worker_;
};

TEST_F(TakeOver, AWorkerThatDiesHoldingALockIsFollowedWithinFiveSeconds) {
  worker_ = scene_.start();
  scene_.behave({.latency_ms = 200});
  const std::string id = place(*worker_, R"(,"lock":"exclusive")");
  EXPECT_EQ(other_->get_as<Listing<OfService<LockView>>>("/api/locks").items.size(), 2u) << "the order and the product";
  worker_->kill_hard();
  EXPECT_LT(seconds_until_confirmed(id, 10s), 5);
  EXPECT_THAT(what_is_wrong(*other_), testing::IsEmpty());
  EXPECT_EQ(scene_.charges().size(), 1u);
}

TEST_F(TakeOver, AWorkerStoppedInsideOfATransactionIsFollowedWithinTenSecondsAndChangesNothingWhenItWakes) {
  worker_ = scene_.start({Moment::stop, {"order.place", 2}});
  const std::string id = place(*worker_, R"(,"lock":"exclusive")");
  ASSERT_TRUE(until([&] { return is_stopped(worker_->pid()); }));
  EXPECT_EQ(scene_.charges().size(), 1u) << "charged, and not confirmed yet";
  EXPECT_TRUE(has_become(*other_, id, Status::PENDING));
  EXPECT_LT(seconds_until_confirmed(id, 15s), 10);
  wake_and_expect_nothing_changed(everything());
}

TEST_F(TakeOver, AWorkerStoppedInsideOfACallIsFollowedAndChangesNothingWhenItWakes) {
  worker_ = scene_.start();
  scene_.behave({.latency_ms = 300});
  const std::string id = place(*worker_);
  ASSERT_TRUE(until([&] { return worker_->get("/test/commits").find("wait for permit") != std::string::npos; }));
  worker_->signal(SIGSTOP);
  EXPECT_LT(seconds_until_confirmed(id, 15s), 10);
  wake_and_expect_nothing_changed(everything());
}

class LostResult : public testing::TestWithParam<Dialect> {};
INSTANTIATE_TEST_SUITE_P(Both, LostResult, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& which) { return which.param == Dialect::sqlite ? "SQLite" : "PostgreSQL"; });

// The commit that stores a charge's result holds all that follows, too.
TEST_P(LostResult, OfAChargeIsAskedForAgainByTheNextProcess) {
  Scene scene(GetParam(), {.lease_ms = 300, .beat_ms = 50});
  auto process = scene.start();
  offer(*process, "lamp", 5);
  scene.behave({.latency_ms = 200});  // the customer has an answer before the process dies
  process->send("POST", "/test/doom", to_json(Doom{Moment::before, {"order.place", 2}}), 200);
  const std::string id = place(*process);
  ASSERT_TRUE(until([&] { return process->ended(); })) << "it was to die with the charge's result";
  ASSERT_EQ(scene.charges().size(), 1u);
  process = scene.start();
  EXPECT_TRUE(until([&] { return has_become(*process, id, Status::CONFIRMED); }));
  EXPECT_EQ(scene.charges().size(), 1u) << "charged once";
  EXPECT_THAT(what_is_wrong(*process), testing::IsEmpty());
  EXPECT_THAT(anomalies(*process), testing::IsEmpty());
}

}  // namespace
}  // namespace skald::crash
