// The commands about sagas and their isolation.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "cli/command.h"
#include "skald/checker.h"
#include "support/test_database.h"

namespace skald::cli {
namespace {

using testing::HasSubstr;

class SagaCommandsTest : public testing::Test {
 protected:
  static Arguments parse(std::vector<std::string> words) { return parse_arguments(words); }
  // Answers everything with `body` and remembers what was asked.
  Api answering(std::string body) {
    return [this, body = std::move(body)](const Request& request) {
      asked_ = request;
      return Response{200, body, "application/json", {}};
    };
  }

  Request asked_;
  std::ostringstream out_;
};

constexpr const char* kSaga =
    R"({"id":"01A","service":"shop","type":"order.place","key":"o1","status":"NEEDS_HELP","step":"charge",)"
    R"("state":{"sku":"lamp"},"startedAt":"2026-11-15T20:00:00Z","error":{"code":"GONE","message":"no answer"},)"
    R"("steps":[{"name":"reserve","kind":"local","status":"DONE","attempt":1,"startedAt":"2026-11-15T20:00:00Z",)"
    R"("finishedAt":"2026-11-15T20:00:01Z"}]})";

TEST_F(SagaCommandsTest, SagasAreListedAsATableOrAsTheAnswerIs) {
  const std::string body = R"({"items":[)" + std::string(kSaga) + R"(],"nextCursor":"abc"})";
  EXPECT_EQ(run_sagas(parse({"sagas", "list", "--status", "NEEDS_HELP", "--key", "o1"}), answering(body), out_), kDone);
  EXPECT_EQ(asked_.path, "/api/sagas?key=o1&status=NEEDS_HELP");
  EXPECT_EQ(out_.str(),
            "ID   SERVICE  TYPE         KEY  STATUS      STEP    STARTED               ERROR\n"
            "01A  shop     order.place  o1   NEEDS_HELP  charge  2026-11-15T20:00:00Z  GONE\n"
            "\nthere is more: --cursor abc\n");
  out_.str("");
  run_sagas(parse({"sagas", "list", "--json", "--code", "GONE"}), answering(body), out_);
  EXPECT_EQ(asked_.path, "/api/sagas?code=GONE");
  EXPECT_EQ(out_.str(), body + "\n");
}

TEST_F(SagaCommandsTest, ASagaIsShownWithItsSteps) {
  run_sagas(parse({"sagas", "show", "a/b"}), answering(kSaga), out_);
  EXPECT_EQ(asked_.method + " " + asked_.path, "GET /api/sagas/a%2Fb");
  EXPECT_THAT(out_.str(), HasSubstr(R"(state      {"sku":"lamp"})"));
  EXPECT_THAT(out_.str(), HasSubstr("reserve  local  DONE    1"));
}

TEST_F(SagaCommandsTest, DecisionsArePosts) {
  run_sagas(parse({"sagas", "retry", "01A"}), answering(kSaga), out_);
  EXPECT_EQ(asked_.method + " " + asked_.path + asked_.body, "POST /api/sagas/01A/retry");
  run_sagas(parse({"sagas", "compensate", "01A", "--reason", "not \"ours\""}), answering(kSaga), out_);
  EXPECT_EQ(asked_.path + " " + asked_.body, R"(/api/sagas/01A/compensate {"reason":"not \"ours\""})");
  run_sagas(parse({"sagas", "signal", "01A", "paid", "--payload", R"({"n":1})", "--id", "s1"}), answering(kSaga), out_);
  EXPECT_EQ(asked_.path + " " + asked_.body, R"(/api/sagas/01A/signal {"name":"paid","payload":{"n":1},"id":"s1"})");
  run_sagas(parse({"sagas", "signal", "01A", "paid"}), answering(kSaga), out_);
  EXPECT_EQ(asked_.body, R"({"name":"paid"})");
  run_sagas(parse({"sagas", "retry", "01A", "--service", "shop"}), answering(kSaga), out_);
  EXPECT_EQ(asked_.path, "/api/sagas/01A/retry?service=shop");
}

TEST_F(SagaCommandsTest, AMissingReasonAndABrokenPayloadAreUsageErrors) {
  EXPECT_THROW(run_sagas(parse({"sagas", "compensate", "1"}), answering(kSaga), out_), Invalid);
  try {
    run_sagas(parse({"sagas", "signal", "1", "paid", "--payload", "{n:"}), answering(kSaga), out_);
    FAIL();
  } catch (const Invalid& error) {
    EXPECT_EQ(error.code(), "USAGE");
  }
  EXPECT_EQ(asked_.path, "") << "nothing was asked";
}

TEST_F(SagaCommandsTest, ARetryIsOfOneSagaOrOfAll) {
  const auto code = [&](std::vector<std::string> words) -> std::string {
    try {
      const Arguments arguments = parse(std::move(words));
      if (arguments.flags.contains("all")) run_retry_all(arguments, answering("{}"), out_, nullptr);
      else run_sagas(arguments, answering(kSaga), out_);
    } catch (const Invalid& error) {
      return error.code();
    }
    return "";
  };
  EXPECT_EQ(code({"sagas", "retry"}), "USAGE");
  EXPECT_EQ(code({"sagas", "retry", "01A", "--code", "GONE"}), "USAGE");
  EXPECT_EQ(code({"sagas", "retry", "01A", "--all"}), "USAGE");
  EXPECT_EQ(asked_.path, "") << "nothing was asked";
  EXPECT_EQ(code({"sagas", "retry", "--all", "--type", "order.place", "--code", "GONE"}), "");
  EXPECT_EQ(asked_.path, "/api/sagas?code=GONE&status=NEEDS_HELP&type=order.place");
}

TEST_F(SagaCommandsTest, LocksNameWhoWaits) {
  run_locks(parse({"locks", "--resource", "product"}),
            answering(R"({"items":[{"service":"shop","resource":"product","key":"lamp","sagaId":"01A",)"
                      R"("sagaType":"order.place","step":"reserve","mode":"exclusive","since":"2026-11-15T20:00:00Z",)"
                      R"("waiting":[{"sagaId":"01B","since":"2026-11-15T20:00:01Z"},{"sagaId":"01C","since":)"
                      R"("2026-11-15T20:00:02Z"}]}]})"),
            out_);
  EXPECT_EQ(asked_.path, "/api/locks?resource=product");
  EXPECT_EQ(out_.str(),
            "SERVICE  RESOURCE  KEY   MODE       HELD BY  TYPE         STEP     SINCE                 WAITING\n"
            "shop     product   lamp  exclusive  01A      order.place  reserve  2026-11-15T20:00:00Z  01B, 01C\n");
}

TEST_F(SagaCommandsTest, LocksOfOneSagaAreAskedForAndAQueueIsCounted) {
  const std::string body = R"({"items":[{"service":"shop","resource":"product","key":"lamp","sagaId":"01A",)"
                           R"("waiting":[{"sagaId":"01B"},{"sagaId":"01C"}],"waitingCount":120}]})";
  run_locks(parse({"locks", "--saga", "01A", "--limit", "1"}), answering(body), out_);
  EXPECT_EQ(asked_.path, "/api/locks?limit=1&sagaId=01A");
  EXPECT_THAT(out_.str(), HasSubstr("120: 01B, 01C\n"));
  out_.str("");
  run_locks(parse({"locks", "--json"}), answering(body), out_);
  EXPECT_EQ(out_.str(), body + "\n");
}

TEST_F(SagaCommandsTest, AStoryIsToldLineByLine) {
  run_story(parse({"story", "BK 1"}),
            answering(R"({"key":"BK 1","names":["BK 1"],"lines":[{"at":"2026-11-15T20:00:00Z","service":"booking",)"
                      R"("source":"history","what":"CREATED","id":"01A"},{"at":"2026-11-15T20:00:01Z","service":)"
                      R"("course","source":"outbox","what":"slot.reserved emitted","id":"01B","detail":"late"}]})"),
            out_);
  EXPECT_EQ(asked_.path, "/api/story/BK%201");
  EXPECT_EQ(out_.str(),
            "AT                    SERVICE  SOURCE   WHAT                   DETAIL\n"
            "2026-11-15T20:00:00Z  booking  history  CREATED\n"
            "2026-11-15T20:00:01Z  course   outbox   slot.reserved emitted  late\n");
}

TEST_F(SagaCommandsTest, LintFailsWhereSomethingIsNotCovered) {
  const std::string finding =
      R"({"severity":"error","anomaly":"lost_update","resource":"stock","first":{"saga":"a","step":"x"},)"
      R"("second":{"saga":"b","step":"y"},"explanation":"a 'x' overwrites","advice":"hold stock"})";
  const std::string bad = R"({"sagas":["a","b"],"uncovered":1,"findings":[)" + finding + "]}";
  EXPECT_EQ(run_lint(parse({"lint"}), answering(bad), out_), kFailed);
  EXPECT_EQ(asked_.path, "/api/isolation");
  EXPECT_THAT(out_.str(), HasSubstr("error: lost update on stock\n  a 'x' overwrites.\n  Nothing covers it.\n"));
  out_.str("");
  EXPECT_EQ(run_lint(parse({"lint", "--json"}), answering(bad), out_), kFailed);
  EXPECT_EQ(out_.str(), bad + "\n");
  EXPECT_EQ(run_lint(parse({"lint"}), answering(R"({"sagas":["a"],"uncovered":0,"findings":[]})"), out_), kDone);
}

class CheckCommandTest : public SagaCommandsTest {
 protected:
  std::string file(const std::string& text) {
    const auto path = folder_.path() / "history";
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  int check(const Arguments& arguments) {
    return run_check(arguments, [this] { return answering(R"({"items":[)" + recorded_ + "]}"); }, out_);
  }
  // An operation as the installation tells it.
  static std::string of(const std::string& service, const std::string& line) {
    return R"({"service":")" + service + "\"," + line.substr(1);
  }
  test::TemporaryFolder folder_;
  std::string recorded_;  // items that the installation answers with
};

std::string line(int at, const std::string& saga, const std::string& kind, const std::string& more = "") {
  return R"({"at":)" + std::to_string(at) + R"(,"sagaId":")" + saga + R"(","sagaType":"t","step":"s","kind":")" + kind +
         R"(","resource":"","key":"")" + more + "}\n";
}
const std::string kRow = R"(,"resource":"stock","key":"lamp")";
std::string on_row(int at, const std::string& saga, const std::string& kind) {
  return R"({"at":)" + std::to_string(at) + R"(,"sagaId":")" + saga + R"(","sagaType":"t","step":"s","kind":")" + kind +
         "\"" + kRow + "}\n";
}

TEST_F(CheckCommandTest, AHistoryWithALostUpdateFails) {
  const std::string lost = line(1, "A", "begin") + line(1, "B", "begin") + on_row(2, "A", "read") +
                           on_row(3, "B", "read") + on_row(4, "B", "write") + on_row(5, "A", "write") +
                           line(6, "A", "finish", R"(,"outcome":"completed")") +
                           line(7, "B", "finish", R"(,"outcome":"completed")");
  EXPECT_EQ(check(parse({"check", file(lost)})), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr("stock"));
  out_.str("");
  EXPECT_EQ(check(parse({"check", file(lost), "--json"})), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr(R"("anomaly":"lost_update")"));
}

TEST_F(CheckCommandTest, AHarmlessHistoryIsDoneAndAPartNeedsToBeCalledOne) {
  const std::string good = line(1, "A", "begin") + on_row(2, "A", "read") + on_row(3, "A", "write") +
                           line(4, "A", "finish", R"(,"outcome":"completed")");
  EXPECT_EQ(check(parse({"check", file(good)})), kDone);
  EXPECT_EQ(out_.str(), "4 operations, nothing found\n");
  const std::string part = on_row(2, "A", "read") + on_row(3, "A", "write");
  EXPECT_EQ(check(parse({"check", file(part)})), kFailed);
  EXPECT_EQ(check(parse({"check", file(part), "--part"})), kDone);
}

TEST_F(CheckCommandTest, WithoutAFileItIsWhatTheInstallationHasRecorded) {
  EXPECT_THROW(check(parse({"check"})), NotFound) << "nothing is recorded";
  recorded_ = of("shop", on_row(2, "A", "read")) + "," + of("shop", on_row(3, "A", "write"));
  EXPECT_EQ(check(parse({"check"})), kDone) << "it may have begun before";
  EXPECT_EQ(asked_.path, "/api/history?limit=200");
  EXPECT_EQ(out_.str(), "2 operations, nothing found\n");
  out_.str("");
  EXPECT_EQ(check(parse({"check", "--lines"})), kDone);
  EXPECT_EQ(checker::read_history(out_.str()).size(), 2u);
  out_.str("");
  EXPECT_EQ(check(parse({"check", "--edn"})), kDone);
  EXPECT_THAT(out_.str(), HasSubstr(":append"));
}

TEST_F(CheckCommandTest, EachServicesHistoryIsCheckedByItself) {
  // In one history A would overwrite what B wrote since it read.
  recorded_ = of("bar", on_row(2, "A", "read")) + "," + of("bar", on_row(5, "A", "write")) + "," +
              of("inn", on_row(3, "B", "read")) + "," + of("inn", on_row(4, "B", "write"));
  EXPECT_EQ(check(parse({"check"})), kDone) << out_.str();
  EXPECT_EQ(out_.str(), "4 operations, nothing found\n");
  EXPECT_THROW(check(parse({"check", "--lines"})), Invalid) << "a file is one history";
  recorded_ = of("inn", on_row(3, "B", "read"));
  EXPECT_EQ(check(parse({"check", "--lines", "--service", "inn"})), kDone);
  EXPECT_EQ(asked_.path, "/api/history?limit=200&service=inn");
}

TEST_F(CheckCommandTest, AFileThatCannotBeReadIsToldByItsName) {
  EXPECT_THROW(check(parse({"check", (folder_.path() / "none").string()})), Invalid);
  EXPECT_THROW(check(parse({"check", file("{broken}\n")})), Invalid);
}

}  // namespace
}  // namespace skald::cli
