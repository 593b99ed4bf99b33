// Letters over a real server.
#include "bus/nats/nats_post.h"

#include <gmock/gmock.h>

#include <optional>

#include "bus/letter_text.h"
#include "bus/nats/nats_fixture.h"

namespace skald::test {
namespace {

using ::testing::ElementsAre;
using Kind = Courier::Answer::Kind;

class NatsPostTest : public ::testing::Test, protected Scene {
 protected:
  static NatsOptions at(const std::string& url) {
    NatsOptions options;
    options.urls = {url};
    return options;
  }
  std::unique_ptr<NatsLetterbox> letterbox(std::uint64_t partitions = ~std::uint64_t{0}) {
    auto made = std::make_unique<NatsLetterbox>(
        env, at(url), service,
        PostHandlers{.accept =
                         [this](std::span<const Letter> letters) {
                           std::vector<Receipt> out;
                           for (const Letter& letter : letters) {
                             landed.insert(landed.end(), letter.ids.begin(), letter.ids.end());
                             out.push_back({Receipt::Kind::landed, letter.number, "", letter.former, letter.ids});
                           }
                           ++rounds;
                           return out;
                         },
                     .answer = [](const Inquiry& inquiry) { return Knowledge{{{1, {5, "c"}}}, inquiry.ids, {}}; }});
    made->set_partitions(partitions);
    return made;
  }
  Letter letter(const std::string& id, const std::string& payload = "{}") const {
    return {"db",
            partition_of("k"),
            1,
            "",
            false,
            {id},
            {{{.id = id, .type = "order.placed", .key = "k", .payload = payload}, "/order", clock.now(), 1, false}}};
  }
  // Asked until somebody listens there: the server has to hear of a subscription first.
  Courier::Answer send(const Letter& one, Inlet* box) {
    for (;;) {
      std::optional<Courier::Answer> answer;
      courier.send(service, one, [&](Courier::Answer got) { answer = std::move(got); });
      while (!answer) {
        courier.poll(1ms);
        if (box != nullptr) box->poll(1ms);
      }
      if (answer->kind != Kind::nobody || box == nullptr) return *answer;
    }
  }

  const std::string url = shared_nats_url();
  const std::string service = unused_topic();
  std::vector<std::string> landed;
  int rounds = 0;
  NatsCourier courier{env, at(url)};
  NatsLink* newer_link_ = nullptr;  // of a test's own peer
};

TEST_F(NatsPostTest, ALetterIsAnsweredByWhoHasItsPartition) {
  const auto box = letterbox();
  const auto answer = send(letter("e1"), box.get());
  ASSERT_EQ(answer.kind, Kind::receipt);
  EXPECT_THAT(answer.receipt.ids, ElementsAre("e1"));
  EXPECT_THAT(landed, ElementsAre("e1"));
}

TEST_F(NatsPostTest, WhereNobodyHasThePartitionTheAnswerIsNobody) {
  const auto box = letterbox(~(std::uint64_t{1} << partition_of("k")));
  while (!box->is_up() || !courier.is_up()) {
    box->poll(1ms);
    courier.poll(1ms);
  }
  EXPECT_EQ(send(letter("e1"), nullptr).kind, Kind::nobody);
}

TEST_F(NatsPostTest, APartitionThatIsGivenAwayIsNoLongerAnsweredFor) {
  const auto box = letterbox();
  send(letter("e1"), box.get());
  box->set_partitions(0);
  Courier::Answer answer{Kind::receipt};
  while (answer.kind != Kind::nobody) answer = send(letter("e2"), nullptr);  // until the server has heard of it
  EXPECT_EQ(answer.kind, Kind::nobody);
}

TEST_F(NatsPostTest, CouriersHearWhenAServiceTakesLetters) {
  std::vector<std::string> returned;
  courier.on_return([&](const std::string& name) { returned.push_back(name); });
  while (!courier.is_up()) courier.poll(1ms);
  send(letter("e1"), nullptr);  // answered, so the server has heard what the courier listens to
  const auto box = letterbox();
  while (returned.empty()) {
    box->poll(1ms);
    courier.poll(1ms);
  }
  EXPECT_EQ(returned.front(), service);
}

TEST_F(NatsPostTest, AQuestionIsAnswered) {
  const auto box = letterbox();
  std::optional<Knowledge> knowledge;
  while (!knowledge) {
    bool told = false;
    courier.ask(service, {"db", {"a"}}, [&](std::optional<Knowledge> got) {
      knowledge = std::move(got);
      told = true;
    });
    while (!told) {
      courier.poll(1ms);
      box->poll(1ms);
    }
  }
  EXPECT_EQ(knowledge->lasts.at(1).number, 5);
  EXPECT_THAT(knowledge->ids, ElementsAre("a"));
}

TEST_F(NatsPostTest, AnEventThatTheServerDoesNotTakeIsToldOfAndNotLost) {
  const auto box = letterbox();
  send(letter("e1"), box.get());
  const auto answer = send(letter("large", "\"" + std::string(2'000'000, 'x') + "\""), box.get());
  EXPECT_EQ(answer.kind, Kind::refused);
  EXPECT_THAT(answer.why, ::testing::HasSubstr("max_payload"));
}

TEST_F(NatsPostTest, ASenderThatIsTooNewHearsWhyAndNothingIsLanded) {
  const auto box = letterbox();
  send(letter("e1"), box.get());
  NatsLink newer(env, at(url), {.up = [] {}, .down = [] {}});
  std::string text = letter_text(letter("e2"));
  text.insert(1, R"("least":2,)");
  std::optional<NatsReply> reply;
  bool sent = false;
  while (!reply) {
    if (!sent && newer.is_up())
      sent = newer.request(post_subject(service, partition_of("k")), {}, text, 1h,
                           [&](NatsReply got) { reply = std::move(got); }) == NatsLink::Sent::yes;
    newer.poll(1ms, {});
    box->poll(1ms);
  }
  try {
    read_receipt(reply->message.body());
    ADD_FAILURE() << "it is a receipt";
  } catch (const Refused& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("upgrade this program"));
  }
  EXPECT_THAT(landed, ElementsAre("e1"));
}

// A receiver of a later version, by hand: what it answers is understood, or is no receipt.
TEST_F(NatsPostTest, AReceiverOfALaterVersionIsUnderstoodUnlessItSaysThatItCannotBe) {
  std::string answer;
  NatsLink newer(
      env, at(url),
      {.up = [] {},
       .down = [] {},
       .message = [&](const NatsMessage& message) { newer_link_->publish(std::string(message.reply()), {}, answer); }});
  newer_link_ = &newer;
  while (!newer.is_up()) newer.poll(1ms, {});
  ASSERT_TRUE(newer.subscribe(post_subject(service, partition_of("k"))));
  const auto told = [&](std::string_view members) {
    answer =
        R"({"post":2,"receipt":"landed","last":1,"chain":"","former":"","ids":["e1"],)" + std::string(members) + "}";
    for (;;) {
      std::optional<Courier::Answer> got;
      courier.send(service, letter("e1"), [&](Courier::Answer one) { got = std::move(one); });
      while (!got) {
        courier.poll(1ms);
        newer.poll(1ms, {});
      }
      if (got->kind != Kind::nobody) return *got;
    }
  };
  EXPECT_THAT(told(R"("least":1,"signature":{"by":7})").receipt.ids, ElementsAre("e1"));
  const auto refused = told(R"("least":2)");
  EXPECT_EQ(refused.kind, Kind::refused);
  EXPECT_THAT(refused.why, ::testing::HasSubstr("needs a reader that knows version 2"));
}

TEST_F(NatsPostTest, WithoutAServerTheAnswerIsNobodyAtOnce) {
  NatsCourier lost(env, at("nats://127.0.0.1:1"));
  std::optional<Courier::Answer> answer;
  lost.send(service, letter("e1"), [&](Courier::Answer got) { answer = std::move(got); });
  while (!answer) lost.poll(1ms);
  EXPECT_EQ(answer->kind, Kind::nobody);
}

}  // namespace
}  // namespace skald::test
