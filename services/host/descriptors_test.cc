#include "host/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace skald::host {
namespace {

TEST(Descriptors, ConnectionsLeaveAReserve) {
  EXPECT_EQ(connections_within(65'536, 2'048, 320), 2'048u);
  EXPECT_EQ(connections_within(1'024, 2'048, 320), 704u);
  EXPECT_EQ(connections_within(1'024, 100, 320), 100u);
}

TEST(Descriptors, WhereThereAreTooFewForTheReserveSomeAreStillTaken) {
  EXPECT_EQ(connections_within(256, 2'048, 320), 64u);
  EXPECT_EQ(connections_within(2, 2'048, 320), 1u);
}

struct LastLine final : Observer {
  void log(Level level, std::string_view message, std::string_view fields) override {
    lowest = level;
    line = std::string(message) + ' ' + std::string(fields);
  }
  Level lowest = Level::debug;
  std::string line;
};

TEST(Descriptors, WhatIsLeftOfTheSettingIsLogged) {
  LastLine observer;
  const cli::Settings settings({}, {}, {});
  http::ServerOptions options;
  fit_connections(65'536, observer, settings, options);
  EXPECT_EQ(options.connections_max, 2'048u);
  EXPECT_EQ(observer.line, "");
  fit_connections(1'024, observer, settings, options);
  EXPECT_LT(options.connections_max, 1'024u);
  EXPECT_NE(observer.line.find("\"wanted\":\"2048\""), std::string::npos) << observer.line;
  EXPECT_EQ(observer.lowest, Observer::Level::warn);
}

TEST(Descriptors, TheLimitIsRaisedAsFarAsItMayBe) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{256, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_GT(raise_descriptor_limit(), 256u);
  rlimit raised{};
  getrlimit(RLIMIT_NOFILE, &raised);
  EXPECT_EQ(raised.rlim_cur, before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace skald::host
