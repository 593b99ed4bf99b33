// A service of the booking system by itself, for tests: its engine on a database of either
// kind, events of the others landed by hand, its own told from the outbox.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "golf/events.h"
#include "http/router.h"
#include "skald/engine.h"
#include "support/test_database.h"

namespace skald::test {

// Counts metrics and keeps the lines of the log.
class Noted final : public Observer {
 public:
  void count(std::string_view metric, std::int64_t by = 1) override;
  void timing(std::string_view metric, Duration took) override;
  void log(Level, std::string_view message, std::string_view fields) override;
  std::int64_t of(const std::string& metric) const;
  // How often each of those that begin so was timed.
  std::map<std::string, int> timed(const std::string& prefix) const;
  // The fields of the lines with this message.
  std::vector<std::string> lines(const std::string& message) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> counts_;
  std::map<std::string, int> timings_;
  std::vector<std::pair<std::string, std::string>> lines_;
};

// An event that the service has told others.
struct Told {
  std::string type, key, subject, payload, traceparent;
};

class GolfTest : public testing::TestWithParam<Dialect> {
 protected:
  GolfTest();
  ~GolfTest() override;
  void start();  // when the service is installed

  // Without a role: as an admin without a token.
  Response call(const std::string& method, const std::string& path, const std::string& body = "");
  Response call_as(Role role, const std::string& subject, const std::string& method, const std::string& path,
                   const std::string& body = "");

  // Lands an event, and returns when the service has handled it for good.
  template <class T>
  void take(const std::string& id, const std::string& type, const std::string& key, const T& payload) {
    land(id, type, key, to_json(payload));
    settle(key);
  }
  void land(const std::string& id, const std::string& type, const std::string& key, const std::string& payload);
  void settle(const std::string& key);

  std::vector<Told> told();
  std::vector<std::string> told_types();
  std::int64_t number(const std::string& sql);
  void execute(const std::string& sql);
  // Calls it right before a round trip that carries this text, in the thread that makes it (PostgreSQL).
  void before(const std::string& text, std::function<void()> call);

  Noted noted_;
  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, noted_};
  std::unique_ptr<TestDatabase> db_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<http::Routes> routes_;

 private:
  Response dispatch(const std::string& method, const std::string& path, const std::string& body,
                    const std::string& authorization);

  std::mutex mutex_;
  std::condition_variable ended_one_;
  std::set<std::string> ended_;
  int ends_ = 0;
  std::string watched_;
  std::function<void()> meddle_;
};

std::string database_of(const testing::TestParamInfo<Dialect>& info);
std::string problem_of(const Response& response);  // its code

}  // namespace skald::test
