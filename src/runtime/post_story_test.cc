// What a story says of events that go to other services.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "runtime/local_post.h"
#include "skald/engine.h"
#include "support/test_database.h"

namespace skald::runtime {
namespace {

using testing::ElementsAre;
using testing::MatchesRegex;

class PostStoryTest : public testing::TestWithParam<Dialect> {
 protected:
  PostStoryTest() {
    order_.post(*courier_);
    order_.subscriber({.name = "stock", .types = {"order.*"}});
    order_.subscriber({.name = "away", .types = {"order.*"}});
    stock_.receive(*letterbox_);
    stock_.consume(
        {.name = "stock", .type = "order.*", .handle = [this](Transaction&, const Message&) { handled_.set_value(); }});
    order_.start();
    stock_.start();
  }
  ~PostStoryTest() override {
    order_.stop();
    stock_.stop();
  }
  // Stopping waits for the answers to what is under way, and their settling.
  std::vector<StoryLine> lines() {
    order_.database().write("emit", [&](Transaction& tx) {
      tx.emit({.id = "e1", .type = "order.placed", .key = "k", .subject = "o1", .payload = "{}"});
    });
    EXPECT_EQ(handled_.get_future().wait_for(60s), std::future_status::ready);
    order_.stop();
    return order_.database().read_result([&](Transaction& tx) { return order_.story(tx, "o1"); })[0].lines;
  }

  std::promise<void> handled_;
  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, silent_observer()};
  std::unique_ptr<test::TestDatabase> orders_ = test::TestDatabase::of(GetParam(), env_),
                                      stocks_ = test::TestDatabase::of(GetParam(), env_);
  LocalPost post_;
  Engine order_{env_, **orders_, {}}, stock_{env_, **stocks_, {}};
  std::unique_ptr<Courier> courier_ = post_.courier();
  std::unique_ptr<Inlet> letterbox_ =
      post_.letterbox("stock", {.accept = [this](std::span<const Letter> letters) { return stock_.accept(letters); },
                                .answer = [this](const Inquiry& inquiry) { return stock_.answer(inquiry); }});
};
INSTANTIATE_TEST_SUITE_P(Databases, PostStoryTest, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& which) { return which.param == Dialect::sqlite ? "sqlite" : "postgres"; });

TEST_P(PostStoryTest, SaysWhoHasAnEventAndWhoIsOwedIt) {
  std::vector<std::string> told;
  std::string proof;
  for (const StoryLine& line : lines()) {
    told.push_back(line.what);
    if (line.what.ends_with("stock has it")) proof = line.detail.value_or("");
  }
  EXPECT_THAT(told, ElementsAre("order.placed emitted", "order.placed: owed to away", "order.placed: stock has it"));
  EXPECT_THAT(proof, MatchesRegex("since 20.*Z, letter 1 of partition " + std::to_string(partition_of("k"))));
}

}  // namespace
}  // namespace skald::runtime
