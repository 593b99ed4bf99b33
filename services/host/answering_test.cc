// Questions between processes, over a real NATS server: both ends in one process here.
#include "host/answering.h"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <set>
#include <thread>

#include "host/asking.h"
#include "host/news.h"
#include "http/remote_call.h"
#include "runtime/wakeup.h"
#include "support/nats_server.h"

namespace skald::host {
namespace {

struct AnsweringTest : testing::Test {
  std::unique_ptr<Clock> clock = system_clock();
  std::unique_ptr<Random> random = system_random();
  Env env{*clock, *random, silent_observer()};
  test::NatsServer server;

  NatsOptions nats() const {
    NatsOptions out;
    out.urls = {server.url()};
    return out;
  }

  // A process of the service "course".
  struct Process {
    explicit Process(AnsweringTest& test) : routes(test.env, http::Authenticator(test.env, "a secret"), "1") {
      options.nats = test.nats();
      options.service = "course";
      routes.get("/who", Access::customer, {}, [this](const Request&) { return Response::text(name); });
      routes.act("/slow", Access::customer, {}, [this](const Request&) {
        entered.set();
        released.get_future().wait();
        return Response::text("slow " + name);
      });
    }
    void start(AnsweringTest& test) { answering.emplace(test.env, options, routes); }

    std::string name = "one";
    http::Routes routes;
    AnsweringOptions options;
    runtime::Wakeup entered;        // /slow
    std::promise<void> released;    // it goes on
    std::optional<Answering> answering;
  };

  static Request request_of(const std::string& method, const std::string& path, const std::string& body = "") {
    Request request;
    request.method = method;
    request.path = path;
    request.body = body;
    request.caller = {Role::customer, "kim"};
    return request;
  }
  // Until the server leads questions to it.
  static Response until_answered(const Asking::Ask& ask, const Request& request) {
    for (;;) {
      try {
        return ask(request);
      } catch (const Unavailable&) {}
    }
  }
};

TEST_F(AnsweringTest, ProcessesOfOneServiceShareTheQuestions) {
  Process one(*this), two(*this);
  two.name = "two";
  one.start(*this), two.start(*this);
  Asking asking(env, {.nats = nats()});
  const auto ask = asking.remote_service("course");
  std::set<std::string> heard;
  while (heard.size() < 2) heard.insert(until_answered(ask, request_of("GET", "/who")).body);

  std::vector<std::future<int>> askers;
  for (int i = 0; i < 8; ++i)
    askers.push_back(std::async(std::launch::async, [&] {
      int right = 0;
      for (int n = 0; n < 50; ++n) right += heard.contains(ask(request_of("GET", "/who")).body);
      return right;
    }));
  for (auto& asker : askers) EXPECT_EQ(asker.get(), 50);
}

TEST_F(AnsweringTest, RefusalsAreAnswersAndAccessIsCheckedThere) {
  Process one(*this);
  one.routes.get("/admin", Access::admin, {}, [](const Request&) { return Response::text("in"); });
  one.start(*this);
  Asking asking(env, {.nats = nats()});
  const auto ask = asking.remote_service("course");
  EXPECT_EQ(until_answered(ask, request_of("GET", "/nothing")).status, 404);
  EXPECT_EQ(ask(request_of("GET", "/admin")).status, 403);
}

TEST_F(AnsweringTest, WithNobodyThereItIsKnownAtOnceThatNothingHappened) {
  Asking asking(env, {.nats = nats(), .timeout = 1h});
  EXPECT_THROW(asking.remote_service("course")(request_of("POST", "/slow")), Unavailable);
  EXPECT_THROW(asking.remote_service("no such.name"), Invalid);
}

TEST_F(AnsweringTest, WhoIsTooSlowMayHaveDoneIt) {
  Process one(*this);
  one.start(*this);
  Asking asking(env, {.nats = nats(), .timeout = 500ms});
  const auto ask = asking.remote_service("course");
  until_answered(ask, request_of("GET", "/who"));
  EXPECT_THROW(ask(request_of("POST", "/slow")), CommitUnknown);
  one.released.set_value();
}

TEST_F(AnsweringTest, AReaderWhoGetsNoAnswerKnowsThatNothingHappened) {
  NatsResponder mute(env, nats(), ask_subject("course"), "course", [](const NatsQuestion&) {});
  while (!mute.is_up()) mute.poll(1ms);
  Asking asking(env, {.nats = nats(), .timeout = 500ms});
  const auto ask = asking.remote_service("course");
  std::string code = "NATS_UNAVAILABLE";  // until the server knows of it
  while (code == "NATS_UNAVAILABLE") {
    try {
      ask(request_of("GET", "/who"));
      FAIL();
    } catch (const Unavailable& error) {
      code = error.code();
    }
  }
  EXPECT_EQ(code, "NATS_ANSWER_UNKNOWN");
}

TEST_F(AnsweringTest, WhatAProcessTookToItsGraveIsUnknownAndTheNextQuestionsGoToTheOther) {
  Process two(*this);
  two.name = "two";
  bool taken = false;
  std::optional<NatsResponder> dying(std::in_place, env, nats(), ask_subject("course"), "course",
                                     [&](const NatsQuestion&) { taken = true; });
  Asking hasty(env, {.nats = nats(), .timeout = 500ms}), asking(env, {.nats = nats()});
  const auto ask = hasty.remote_service("course"), ask_later = asking.remote_service("course");
  std::future<void> asked;
  while (!taken) {
    asked = std::async(std::launch::async, [&] { ask(request_of("POST", "/who")); });
    while (!taken && asked.wait_for(0s) != std::future_status::ready) dying->poll(1ms);
    if (taken) break;
    EXPECT_THROW(asked.get(), Unavailable);  // the server did not know of it yet
  }
  dying.reset();
  EXPECT_THROW(asked.get(), CommitUnknown);
  two.start(*this);
  EXPECT_EQ(until_answered(ask_later, request_of("GET", "/who")).body, "two");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask_later(request_of("GET", "/who")).body, "two");
}

TEST_F(AnsweringTest, OneThatHasTooMuchToDoSaysSoAtOnce) {
  Process one(*this);
  one.options.open_max = 1;
  one.start(*this);
  Asking asking(env, {.nats = nats()});
  const auto ask = asking.remote_service("course");
  until_answered(ask, request_of("GET", "/who"));
  auto slow = std::async(std::launch::async, [&] { return ask(request_of("POST", "/slow")); });
  one.entered.wait(1h);
  const Response refused = ask(request_of("GET", "/who"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  one.released.set_value();
  EXPECT_EQ(slow.get().body, "slow one");
  EXPECT_EQ(ask(request_of("GET", "/who")).status, 200);
}

TEST_F(AnsweringTest, ASlowServiceDoesNotTakeAllThatAsk) {
  Process one(*this), other(*this);
  other.options.service = "notify";
  one.start(*this), other.start(*this);
  Asking asking(env, {.nats = nats(), .open_max = 1});
  const auto course = asking.remote_service("course"), notify = asking.remote_service("notify");
  until_answered(course, request_of("GET", "/who"));
  until_answered(notify, request_of("GET", "/who"));
  auto slow = std::async(std::launch::async, [&] { return course(request_of("POST", "/slow")); });
  one.entered.wait(1h);
  EXPECT_EQ(course(request_of("GET", "/who")).status, 503);
  EXPECT_EQ(notify(request_of("GET", "/who")).status, 200);
  one.released.set_value();
  EXPECT_EQ(slow.get().status, 200);
}

TEST_F(AnsweringTest, WhatCannotBeCarriedIsSaidClearly) {
  Process one(*this);
  one.routes.get("/large", Access::customer, {},
                 [](const Request&) { return Response::text(std::string(2'000'000, 'x')); });
  one.start(*this);
  Asking asking(env, {.nats = nats()});
  const auto ask = asking.remote_service("course");
  until_answered(ask, request_of("GET", "/who"));
  const Response body = ask(request_of("POST", "/who", std::string(2'000'000, 'x')));
  EXPECT_EQ(body.status, 413);
  EXPECT_NE(body.body.find("BODY_TOO_LARGE"), std::string::npos);
  const Response answer = ask(request_of("GET", "/large"));
  EXPECT_EQ(answer.status, 500);
  EXPECT_NE(answer.body.find("ANSWER_TOO_LARGE"), std::string::npos);
}

TEST_F(AnsweringTest, OneThatStopsAnswersWhatItHas) {
  Process one(*this);
  one.start(*this);
  Asking asking(env, {.nats = nats(), .timeout = 1h});
  const auto ask = asking.remote_service("course");
  until_answered(ask, request_of("GET", "/who"));
  auto slow = std::async(std::launch::async, [&] { return ask(request_of("POST", "/slow")); });
  one.entered.wait(1h);
  auto stopped = std::async(std::launch::async, [&] { one.answering->stop(1h); });
  // It takes no more questions while it still has one.
  for (bool gone = false; !gone;) {
    try {
      ask(request_of("GET", "/who"));
    } catch (const Unavailable&) {
      gone = true;
    }
  }
  one.released.set_value();
  EXPECT_EQ(slow.get().body, "slow one");
  stopped.get();
}

TEST_F(AnsweringTest, ProcessesThatDoNotUnderstandEachOtherSaySo) {
  Process one(*this);
  one.start(*this);
  Asking asking(env, {.nats = nats()});
  until_answered(asking.remote_service("course"), request_of("GET", "/who"));
  NatsRequester stranger(env, nats());
  std::string code;
  stranger.request(ask_subject("course"), R"({"verb":"GET"})", 1h, [&](const NatsRequester::Answer& answer) {
    try {
      answer.body();
    } catch (const Unavailable& error) {
      code = error.code();
    }
  });
  while (stranger.in_flight() > 0) stranger.poll(1ms);
  EXPECT_EQ(code, "BAD_CALL");
}

TEST_F(AnsweringTest, AnAskerOfALaterVersionIsAnsweredUnlessItSaysThatItCannotBeUnderstood) {
  Process one(*this);
  one.start(*this);
  Asking asking(env, {.nats = nats()});
  until_answered(asking.remote_service("course"), request_of("GET", "/who"));
  NatsRequester newer(env, nats());
  const auto answer_to = [&](const std::string& members) {
    const std::string call = http::write_call(request_of("GET", "/who"), "");
    std::string told;
    newer.request(ask_subject("course"), "{" + members + "," + call.substr(1), 1h,
                  [&](const NatsRequester::Answer& answer) {
                    try {
                      told = http::read_answer(answer.body()).body;
                    } catch (const Unavailable& error) {
                      told = error.code() + ": " + error.what();
                    }
                  });
    while (newer.in_flight() > 0) newer.poll(1ms);
    return told;
  };
  EXPECT_EQ(answer_to(R"("version":2,"least":1,"tenant":{"id":7})"), "one");
  const std::string refused = answer_to(R"("version":2,"least":2)");
  EXPECT_TRUE(refused.starts_with("BAD_CALL") && refused.find("needs a reader") != refused.npos) << refused;
}

TEST_F(AnsweringTest, QuestionsAreAnsweredAgainWhenTheServerIsBack) {
  Process one(*this);
  one.start(*this);
  Asking asking(env, {.nats = nats(), .timeout = 500ms});
  const auto ask = asking.remote_service("course");
  until_answered(ask, request_of("GET", "/who"));
  server.restart();
  EXPECT_EQ(until_answered(ask, request_of("GET", "/who")).body, "one");
}

TEST_F(AnsweringTest, NewsReachEveryProcess) {
  runtime::Wakeup first, second;
  News one(env, nats(), [&](std::string_view topic) {
    if (topic == "booking/1") first.set();
  });
  News two(env, nats(), [&](std::string_view topic) {
    if (topic == "booking/1") second.set();
  });
  Asking asking(env, {.nats = nats()});
  // What is told before they listen is lost.
  for (runtime::Wakeup* heard : {&first, &second}) {
    std::atomic<bool> there = false;
    auto teller = std::async(std::launch::async, [&] {
      while (!there) asking.tell_news("booking/1"), runtime::Wakeup().wait(1ms);
    });
    heard->wait(1h);
    there = true;
    teller.get();
  }
}

}  // namespace
}  // namespace skald::host
