#include "bus/nats/request_reply.h"

#include <gmock/gmock.h>

#include <memory>
#include <optional>

#include "bus/nats/nats_fixture.h"
#include "fault_proxy/fault_proxy.h"
#include "skald/error.h"

namespace skald::test {
namespace {

using ::testing::HasSubstr;

class RequestReplyTest : public ::testing::Test, protected Scene {
 protected:
  static NatsOptions at(const std::string& url) {
    NatsOptions options;
    options.urls = {url};
    return options;
  }
  using AtOnce = std::function<std::string(std::string_view body)>;
  std::unique_ptr<NatsResponder> unheard_responder(const std::string& server, AtOnce handler) {
    const auto self = std::make_shared<NatsResponder*>(nullptr);
    auto made = std::make_unique<NatsResponder>(
        env, at(server), subject, "group",
        [self, handler](const NatsQuestion& question) { (*self)->answer(question, handler(question.body)); });
    *self = made.get();
    return made;
  }
  // Returns when the server leads questions to it; the first ones it is asked are ours.
  std::unique_ptr<NatsResponder> responder(const std::string& server, AtOnce handler) {
    auto made = unheard_responder(server, std::move(handler));
    NatsRequester probe(env, at(server));
    for (;;) {
      try {
        ask(probe, "probe", made.get()).body();
        return made;
      } catch (const Unavailable&) {  // not yet
      } catch (const Error&) {
        return made;
      }
    }
  }
  NatsRequester::Answer ask(NatsRequester& requester, const std::string& body, NatsResponder* other = nullptr) {
    std::optional<NatsRequester::Answer> answer;
    requester.request(subject, body, 5s, [&](NatsRequester::Answer got) { answer = std::move(got); });
    while (!answer) {
      requester.poll(1ms);
      if (other != nullptr) other->poll(1ms);
    }
    return *answer;
  }

  const std::string subject = "ask." + unused_topic();
  const std::string url = shared_nats_url();
};

TEST_F(RequestReplyTest, AQuestionIsAnswered) {
  const auto other = responder(url, [](std::string_view body) { return "answer to " + std::string(body); });
  NatsRequester requester(env, at(url));
  EXPECT_EQ(ask(requester, "one", other.get()).body(), "answer to one");
  EXPECT_EQ(ask(requester, "", other.get()).body(), "answer to ");
  EXPECT_EQ(requester.in_flight(), 0u);
}

TEST_F(RequestReplyTest, ManyQuestionsAtOnceGetTheirOwnAnswers) {
  const auto other = responder(url, [](std::string_view body) { return std::string(body); });
  NatsRequester requester(env, at(url));
  int right = 0;
  for (int i = 0; i < 200; ++i)
    requester.request(subject, std::to_string(i), 5s,
                      [&right, i](const auto& answer) { right += answer.body() == std::to_string(i); });
  while (requester.in_flight() > 0) requester.poll(1ms), other->poll(1ms);
  EXPECT_EQ(right, 200);
}

TEST_F(RequestReplyTest, ServicesOfOneGroupShareTheQuestions) {
  int first = 0, second = 0;
  const auto one = responder(url, [&](std::string_view) { return ++first, "one"; });
  const auto two = unheard_responder(url, [&](std::string_view) { return ++second, "two"; });
  while (!two->is_up()) two->poll(1s);
  first = 0;
  NatsRequester requester(env, at(url));
  int answers = 0;
  for (int i = 0; i < 100; ++i)
    requester.request(subject, "", 5s, [&](const auto& a) { answers += !a.body().empty(); });
  while (requester.in_flight() > 0) requester.poll(1ms), one->poll(1ms), two->poll(1ms);
  EXPECT_EQ(answers, 100);
  EXPECT_EQ(first + second, 100);
}

TEST_F(RequestReplyTest, WithNobodyThereItIsUnavailableAtOnce) {
  NatsRequester requester(env, at(url));
  try {
    ask(requester, "one").body();
    FAIL();
  } catch (const Unavailable& error) {
    EXPECT_THAT(error.what(), HasSubstr("nobody answers " + subject));
  }
}

TEST_F(RequestReplyTest, NoAnswerInTimeMeansThatItIsNotKnown) {
  const auto other = responder(url, [](std::string_view) { return "late"; });
  NatsRequester requester(env, at(url));
  std::optional<NatsRequester::Answer> answer;
  while (!answer) {
    // Asked only once it is connected: else nothing was sent, and that is known.
    ASSERT_EQ(ask(requester, "warm up", other.get()).body(), "late");
    requester.request(subject, "one", 5s, [&](NatsRequester::Answer got) { answer = std::move(got); });
    requester.poll(0s);
    EXPECT_FALSE(answer);
    clock.advance(5s);
    requester.poll(0s);
  }
  EXPECT_THROW(answer->body(), CommitUnknown);
}

TEST_F(RequestReplyTest, AConnectionThatBreaksMeansThatItIsNotKnown) {
  NatsServer server;
  FaultProxy proxy("127.0.0.1", server.port());
  const auto other = responder(server.url(), [](std::string_view) { return "heard"; });
  NatsRequester requester(env, at("nats://127.0.0.1:" + std::to_string(proxy.port())));
  EXPECT_EQ(ask(requester, "one", other.get()).body(), "heard");
  proxy.at_message("two", FaultProxy::Fault::lose_answer);
  EXPECT_THROW(ask(requester, "two", other.get()).body(), CommitUnknown);
  EXPECT_EQ(ask(requester, "three", other.get()).body(), "heard");
}

TEST_F(RequestReplyTest, WithoutAConnectionItIsUnavailableWhenItsTimeIsUp) {
  std::string nowhere;
  { nowhere = NatsServer().url(); }
  NatsRequester requester(env, at(nowhere));
  std::optional<NatsRequester::Answer> answer;
  requester.request(subject, "one", 5s, [&](NatsRequester::Answer got) { answer = std::move(got); });
  requester.poll(0s);
  EXPECT_FALSE(answer);
  clock.advance(5s);
  while (!answer) requester.poll(1ms);
  EXPECT_THROW(answer->body(), Unavailable);
}

TEST_F(RequestReplyTest, ErrorsOfTheOtherSideAreThrownHere) {
  const auto other = responder(url, [](std::string_view body) -> std::string {
    if (body == "refused") throw Refused("SLOT_FULL", "the slot is full");
    if (body == "malformed") throw Malformed("BAD", "not JSON");
    if (body == "busy") throw Busy("BUSY", "in a moment");
    throw std::runtime_error("a secret of the inside");
  });
  NatsRequester requester(env, at(url));
  try {
    ask(requester, "refused", other.get()).body();
    FAIL();
  } catch (const Refused& error) {
    EXPECT_EQ(error.code(), "SLOT_FULL");
    EXPECT_STREQ(error.what(), "the slot is full");
  }
  EXPECT_THROW(ask(requester, "malformed", other.get()).body(), Malformed);
  EXPECT_THROW(ask(requester, "busy", other.get()).body(), Busy);
  try {
    ask(requester, "other", other.get()).body();
    FAIL();
  } catch (const CommitUnknown& error) {
    EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("secret")));
  }
}

TEST_F(RequestReplyTest, AResponderAnswersAgainAfterTheServerWasAway) {
  NatsServer server;
  const auto other = responder(server.url(), [](std::string_view) { return "here"; });
  NatsRequester requester(env, at(server.url()));
  EXPECT_EQ(ask(requester, "one", other.get()).body(), "here");
  server.restart();
  for (bool answered = false; !answered;) {
    try {
      answered = ask(requester, "two", other.get()).body() == "here";
    } catch (const Unavailable&) {  // the responder is not back yet
    } catch (const CommitUnknown&) {  // the connection was not known to be broken yet
    }
  }
}

TEST_F(RequestReplyTest, QuestionsAreAnsweredLaterAndInAnyOrder) {
  std::vector<NatsQuestion> open;
  NatsResponder other(env, at(url), subject, "group", [&](NatsQuestion question) { open.push_back(question); });
  NatsRequester requester(env, at(url));
  std::string heard;
  const auto listen = [&](const NatsRequester::Answer& answer) {
    try {
      heard += answer.body() + ";";
    } catch (const Refused& error) {
      heard += error.code() + ";";
    } catch (const Unavailable&) {
      heard += "nobody;";
    }
  };
  while (open.empty()) {  // until it is heard
    requester.request(subject, "probe", 5s, listen);
    while (heard.empty() && open.empty()) requester.poll(1ms), other.poll(1ms);
    heard.clear();
  }
  for (const char* body : {"one", "two"}) requester.request(subject, body, 5s, listen);
  while (open.size() < 3) requester.poll(1ms), other.poll(1ms);
  EXPECT_EQ(heard, "");
  try {
    throw Refused("NO", "no");
  } catch (const Refused&) {
    other.fail(open[2], write_nats_error());
  }
  while (heard.empty()) requester.poll(1ms);
  other.answer(open[1], "to " + open[1].body);
  other.answer(open[0], "to " + open[0].body);
  while (requester.in_flight() > 0) requester.poll(1ms);
  EXPECT_EQ(heard, "NO;to one;to probe;");
}

TEST_F(RequestReplyTest, OneThatRetiresAnswersWhatItHasAndLeavesTheRestToOthers) {
  int first = 0, answers = 0;
  const auto one = responder(url, [&](std::string_view) { return ++first, "one"; });
  first = 0;
  NatsRequester requester(env, at(url));
  ASSERT_EQ(ask(requester, "", one.get()).body(), "one");
  const auto count = [&](const auto& answer) { answers += answer.body() == "one"; };
  for (int i = 0; i < 50; ++i) requester.request(subject, "", 5s, count);
  bool routed = false;  // one that is answered at once, behind them on the same connection
  requester.request("nobody." + subject, "", 5s, [&](const auto&) { routed = true; });
  while (!routed) requester.poll(1ms);
  one->retire();
  while (!one->has_retired()) one->poll(1ms);
  while (requester.in_flight() > 0) requester.poll(1ms);
  EXPECT_EQ(answers, 50);
  EXPECT_EQ(first, 51);
  EXPECT_THROW(ask(requester, "", one.get()).body(), Unavailable);
}

TEST_F(RequestReplyTest, WhatIsToldIsHeardByAllWhoListenWithoutAGroup) {
  std::string heard;
  NatsResponder one(env, at(url), subject, "", [&](const NatsQuestion& question) { heard += "1" + question.body; }),
      two(env, at(url), subject, "", [&](const NatsQuestion& question) { heard += "2" + question.body; });
  NatsRequester requester(env, at(url));
  // Until the server knows of all three: what is told before is lost.
  while (heard.find('1') == heard.npos || heard.find('2') == heard.npos) {
    requester.tell(subject, "news;");
    requester.poll(1ms), one.poll(1ms), two.poll(1ms);
  }
  EXPECT_NE(heard.find("1news;"), heard.npos);
  EXPECT_NE(heard.find("2news;"), heard.npos);
}

TEST_F(RequestReplyTest, QuestionsThatCannotBeAskedAreRefused) {
  NatsRequester requester(env, at(url), 2);
  const auto done = [](const auto&) {};
  for (const char* bad : {"", "a b", "a.*", "a.>", ".a", "a.", "a..b", "a\r\nPUB x 0"})
    EXPECT_THROW(requester.request(bad, "", 1s, done), Invalid) << bad;
  requester.request(subject, "", 1s, done);
  requester.request(subject, "", 1s, done);
  EXPECT_THROW(requester.request(subject, "", 1s, done), Busy);
}

}  // namespace
}  // namespace skald::test
