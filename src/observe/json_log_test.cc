#include "observe/json_log.h"

#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sstream>

#include "skald/json.h"

namespace skald {
namespace {

struct StillClock final : Clock {
  Time now() const override { return from_micros(1'800'000'000'000'000); }
  Instant steady() const override { return {}; }
};

class JsonLogTest : public testing::Test {
 protected:
  StillClock clock_;
  std::ostringstream out_;
  JsonLog log_{clock_, Observer::Level::info, std::make_shared<spdlog::sinks::ostream_sink_mt>(out_)};
};

TEST_F(JsonLogTest, WritesOneObjectPerLineWithTheFieldsGiven) {
  log_.write(Observer::Level::warn, "late", R"("key":"kim","n":3)");
  EXPECT_EQ(out_.str(), R"({"time":"2027-01-15T08:00:00Z","level":"warn","message":"late","key":"kim","n":3})"
                        "\n");
}

TEST_F(JsonLogTest, EscapesWhatStrangersWrote) {
  log_.write(Observer::Level::error, "a \"quote\"\nand {} %v \xff", "");
  const std::string line = out_.str();
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_EQ(json::parse(line).at("message").as_string(), "a \"quote\"\nand {} %v ?");
}

TEST_F(JsonLogTest, DrivesNoTerminal) {
  log_.write(Observer::Level::info, "\u202ekim\u009b2J", "\"donor\":\"a\u2028b\"");
  EXPECT_THAT(out_.str(), testing::HasSubstr(R"("message":"\u202ekim\u009b2J","donor":"a\u2028b"})"));
}

TEST_F(JsonLogTest, LeavesOutWhatIsBelowItsLevel) {
  log_.write(Observer::Level::debug, "chatter", "");
  EXPECT_EQ(out_.str(), "");
  log_.set_lowest(Observer::Level::debug);
  log_.write(Observer::Level::debug, "chatter", "");
  EXPECT_THAT(out_.str(), testing::HasSubstr("chatter"));
}

}  // namespace
}  // namespace skald
