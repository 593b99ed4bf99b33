// What every Bus must do, whatever it runs over. A bus joins with a harness:
//
//   struct MyHarness {
//     Bus& bus();
//     void fail_next(int count);    // the receiver fails in a passing way
//     void refuse_next(int count);  // the receiver says no for good
//     std::vector<BusArrival> arrivals();  // all that reached the receiver, in order
//     void drop_bus();              // destroys the bus
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(MyBus, BusConformance, MyHarness);
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "skald/bus.h"

namespace skald::test {

// One sending as the receiver saw it.
struct BusArrival {
  std::string id;
  std::string payload;
  std::string bytes;  // the whole body, envelope and all
};

inline Message make_message(const std::string& id, const std::string& payload = R"({"n":1})") {
  Message message;
  message.event = {.id = id,
                   .type = "donation.accepted",
                   .key = "donor-1",
                   .subject = "request-1",
                   .payload = payload,
                   .traceparent = {}};
  message.source = "/donation";
  message.time = from_micros(1'790'000'000'123'456);
  return message;
}

template <class Harness>
class BusConformance : public ::testing::Test {
 protected:
  Bus& bus() { return harness_.bus(); }

  // Polls until nothing is under way.
  void drain() {
    while (bus().in_flight() > 0) bus().poll(1s);
  }

  Outcome send_and_drain(Message message) {
    std::vector<Outcome> outcomes;
    bus().send(std::move(message), [&](Outcome outcome) { outcomes.push_back(std::move(outcome)); });
    drain();
    EXPECT_EQ(outcomes.size(), 1u);
    return outcomes.empty() ? Outcome::failed("done was not called") : outcomes[0];
  }

  Harness harness_;
};

TYPED_TEST_SUITE_P(BusConformance);

TYPED_TEST_P(BusConformance, DoneIsCalledExactlyOncePerSend) {
  this->harness_.fail_next(3);
  std::map<std::string, int> calls;
  for (int i = 0; i < 300; ++i) {
    const std::string id = "event-" + std::to_string(i);
    this->bus().send(make_message(id), [&calls, id](Outcome) { ++calls[id]; });
  }
  this->drain();
  this->bus().poll(0s);
  EXPECT_EQ(calls.size(), 300u);
  for (const auto& [id, count] : calls) EXPECT_EQ(count, 1) << id;
  EXPECT_EQ(this->harness_.arrivals().size(), 300u);
}

TYPED_TEST_P(BusConformance, DoneIsNeverCalledOutsideOfPoll) {
  bool polling = false;
  int outside = 0, inside = 0;
  for (int i = 0; i < 20; ++i) {
    this->bus().send(make_message(std::to_string(i)), [&](Outcome) { ++(polling ? inside : outside); });
    EXPECT_EQ(this->bus().in_flight() > 0, true);
    if (i % 5 != 0) continue;
    polling = true;
    this->bus().poll(1ms);
    polling = false;
  }
  polling = true;
  this->drain();
  EXPECT_EQ(outside, 0);
  EXPECT_EQ(inside, 20);
}

TYPED_TEST_P(BusConformance, InFlightCountsWhatHasNoOutcomeYet) {
  EXPECT_EQ(this->bus().in_flight(), 0u);
  std::size_t open = 0;
  for (int i = 0; i < 100; ++i) {
    this->bus().send(make_message(std::to_string(i)), [&](Outcome) { --open; });
    EXPECT_EQ(this->bus().in_flight(), ++open);
  }
  while (open > 0) {
    this->bus().poll(1s);
    ASSERT_EQ(this->bus().in_flight(), open);
  }
}

TYPED_TEST_P(BusConformance, AFailingReceiverMeansRetryWithAReason) {
  this->harness_.fail_next(1);
  const Outcome outcome = this->send_and_drain(make_message("a"));
  EXPECT_EQ(outcome.verdict, Verdict::retry);
  EXPECT_FALSE(outcome.error.empty());
  EXPECT_EQ(this->send_and_drain(make_message("a")).verdict, Verdict::delivered);
}

TYPED_TEST_P(BusConformance, ARefusingReceiverMeansRefusedWithAReason) {
  this->harness_.refuse_next(1);
  const Outcome outcome = this->send_and_drain(make_message("a"));
  EXPECT_EQ(outcome.verdict, Verdict::refused);
  EXPECT_FALSE(outcome.error.empty());
}

TYPED_TEST_P(BusConformance, PayloadBytesArriveUntouched) {
  const std::vector<std::string> payloads = {
      R"({"z":1,"a":2,"z":3})",
      R"({ "big" : 1e400 , "small":0.10, "minus":-0 })",
      "{\"text\":\"\\u00e4\xc3\xa4\\/\"}",
      R"([1, 2,	3])",
      R"("just text")",
      "null",
      R"({"data":{"data":"}"}})",
  };
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    EXPECT_EQ(this->send_and_drain(make_message(std::to_string(i), payloads[i])).verdict, Verdict::delivered);
    EXPECT_EQ(this->harness_.arrivals().back().payload, payloads[i]);
  }
}

TYPED_TEST_P(BusConformance, EveryAttemptCarriesTheSameIdAndTheSameBytes) {
  this->harness_.fail_next(3);
  for (int attempt = 1; attempt <= 4; ++attempt) {
    Message message = make_message("same");
    message.attempt = attempt;
    const Outcome outcome = this->send_and_drain(message);
    EXPECT_EQ(outcome.verdict, attempt < 4 ? Verdict::retry : Verdict::delivered);
  }
  const auto arrivals = this->harness_.arrivals();
  ASSERT_EQ(arrivals.size(), 4u);
  for (const BusArrival& arrival : arrivals) {
    EXPECT_EQ(arrival.id, "same");
    EXPECT_EQ(arrival.bytes, arrivals[0].bytes);
  }
}

TYPED_TEST_P(BusConformance, DoneMaySendTheNextOne) {
  std::vector<std::string> ended;
  this->bus().send(make_message("first"), [&](Outcome) {
    ended.push_back("first");
    this->bus().send(make_message("second"), [&](Outcome) { ended.push_back("second"); });
  });
  this->drain();
  EXPECT_EQ(ended, (std::vector<std::string>{"first", "second"}));
}

TYPED_TEST_P(BusConformance, AThrowingDoneDoesNotKeepTheOthersFromTheirs) {
  int called = 0;
  for (int i = 0; i < 5; ++i) {
    this->bus().send(make_message(std::to_string(i)), [&](Outcome) {
      if (++called == 1) throw std::runtime_error("the first caller fails");
    });
  }
  EXPECT_THROW(this->drain(), std::runtime_error);
  this->drain();
  EXPECT_EQ(called, 5);
}

TYPED_TEST_P(BusConformance, AReadableWakeDescriptorEndsTheWait) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  const int wake[] = {ends[0]};
  this->bus().poll(1h, wake);  // hangs where the descriptor is not watched
  close(ends[0]);
  close(ends[1]);
}

TYPED_TEST_P(BusConformance, DestructionDropsWhatIsUnderWayWithoutACall) {
  int called = 0;
  for (int i = 0; i < 100; ++i) this->bus().send(make_message(std::to_string(i)), [&](Outcome) { ++called; });
  this->bus().poll(0s);
  const int before = called;
  this->harness_.drop_bus();
  EXPECT_EQ(called, before);
}

REGISTER_TYPED_TEST_SUITE_P(BusConformance, DoneIsCalledExactlyOncePerSend, DoneIsNeverCalledOutsideOfPoll,
                            InFlightCountsWhatHasNoOutcomeYet, AFailingReceiverMeansRetryWithAReason,
                            ARefusingReceiverMeansRefusedWithAReason, PayloadBytesArriveUntouched,
                            EveryAttemptCarriesTheSameIdAndTheSameBytes, DoneMaySendTheNextOne,
                            AThrowingDoneDoesNotKeepTheOthersFromTheirs, AReadableWakeDescriptorEndsTheWait,
                            DestructionDropsWhatIsUnderWayWithoutACall);

}  // namespace skald::test
