// skald subscribers, and what other commands say of the post.
#include <gmock/gmock.h>

#include <sstream>

#include "cli/command.h"
#include "skald/error.h"

namespace skald::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class SubscribersCommandTest : public testing::Test {
 protected:
  int run(const std::vector<std::string>& words, std::string body, int status = 200) {
    out_.str("");
    const Api api = [&](const Request& request) {
      asked_ = request.method + " " + request.path + request.body;
      return Response{status, body, "application/json", {}};
    };
    const Arguments arguments = parse_arguments(words);
    return arguments.command->name == "outbox show" ? run_outbox(arguments, api, out_)
                                                    : run_subscribers(arguments, api, out_);
  }
  std::string asked_;
  std::ostringstream out_;
};

constexpr const char* kOne =
    R"({"name":"notify","types":["slot.*","course.closed"],"owed":10000,"atLeast":true,"oldest":"2026-11-15T20:00:00Z",)"
    R"("lastConfirmedAt":"2026-11-15T19:00:00Z","since":"2026-11-01T00:00:00Z","trouble":"gone\u001b[2J",)"
    R"("troubleSince":"2026-11-15T19:30:00Z","configured":true,"lanes":[{"partition":3,"last":17,)"
    R"("lastConfirmedAt":"2026-11-15T19:00:00Z","owed":1000,"atLeast":true,"oldest":"2026-11-15T20:00:00Z"}],)"
    R"("service":"booking"})";

TEST_F(SubscribersCommandTest, AListIsATableOrTheAnswerAsItIs) {
  const std::string page = R"({"items":[)" + std::string(kOne) + R"(],"nextCursor":"abc"})";
  EXPECT_EQ(run({"subscribers", "list", "--service", "booking", "--limit", "1"}, page), kDone);
  EXPECT_EQ(asked_, "GET /api/subscribers?limit=1&service=booking");
  EXPECT_THAT(out_.str(), HasSubstr("notify  booking  slot.*, course.closed  10000+  2026-11-15T20:00:00Z"));
  EXPECT_THAT(out_.str(), HasSubstr("yes         gone\\u001b[2J\n"));
  EXPECT_THAT(out_.str(), HasSubstr("--cursor abc"));
  run({"subscribers", "list", "--json"}, page);
  EXPECT_EQ(out_.str(), page + "\n");
}

TEST_F(SubscribersCommandTest, OneIsShownWithItsLanes) {
  EXPECT_EQ(run({"subscribers", "show", "a/b", "--service", "booking"}, kOne), kDone);
  EXPECT_EQ(asked_, "GET /api/subscribers/a%2Fb?service=booking");
  EXPECT_THAT(out_.str(), HasSubstr("types            slot.*, course.closed\n"));
  EXPECT_THAT(out_.str(), HasSubstr("owed             10000+\n"));
  EXPECT_THAT(out_.str(), HasSubstr("trouble          gone\\u001b[2J\n"));
  EXPECT_THAT(out_.str(), HasSubstr("3          17           2026-11-15T19:00:00Z  1000+  2026-11-15T20:00:00Z\n"));
  EXPECT_THROW(run({"subscribers", "show", "x"}, R"({"code":"NO_SUCH_SUBSCRIBER","detail":"nobody"})", 404), Error);
}

TEST_F(SubscribersCommandTest, ARemovalNeedsAReasonAndSaysWhatWasOwed) {
  asked_.clear();
  EXPECT_THROW(run({"subscribers", "remove", "notify"}, "{}"), Invalid);
  EXPECT_EQ(asked_, "");
  const std::vector<std::string> words = {"subscribers", "remove", "notify", "--reason", "it is \"gone\""};
  EXPECT_EQ(run(words, R"({"name":"notify","owed":7,"configured":false,"service":"booking"})"), kDone);
  EXPECT_EQ(asked_, R"(POST /api/subscribers/notify/remove{"reason":"it is \"gone\""})");
  EXPECT_EQ(out_.str(), "notify is owed nothing by booking any more; it was owed 7 events\n");
  run(words, R"({"name":"notify","owed":7,"configured":true,"service":"booking"})");
  EXPECT_THAT(out_.str(), HasSubstr("brings it back at its next start"));
}

TEST_F(SubscribersCommandTest, AnEventIsShownWithWhoHasItAndWhoIsOwedIt) {
  const std::string entry = R"({"id":"01A","service":"booking","type":"slot.reserve","attempts":[],"deliveries":[)";
  run({"outbox", "show", "01A"},
      entry + R"({"subscriber":"course","owed":false,"since":"2026-11-15T20:00:00Z","letter":17,"partition":3},)"
              R"({"subscriber":"found","owed":false,"since":"2026-11-15T20:00:00Z","partition":3},)"
              R"({"subscriber":"old","owed":true,"since":"2026-11-15T20:00:00Z","letter":4,"partition":3},)"
              R"({"subscriber":"notify","owed":true,"partition":3}]})");
  EXPECT_THAT(out_.str(), HasSubstr("SUBSCRIBER  STATE       SINCE                 LETTER\n"
                                    "course      has it      2026-11-15T20:00:00Z  17 of partition 3\n"
                                    "found       has it      2026-11-15T20:00:00Z  found there when what both have was "
                                    "compared\n"
                                    "old         owed again  2026-11-15T20:00:00Z  4 of partition 3\n"
                                    "notify      owed"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("ATTEMPT")));
  run({"outbox", "show", "01A"}, entry + "]}");
  EXPECT_THAT(out_.str(), Not(HasSubstr("SUBSCRIBER")));
}

}  // namespace
}  // namespace skald::cli
