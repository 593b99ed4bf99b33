// What an engine says of the sagas that it finds when it starts, on both databases.
#include <gmock/gmock.h>

#include <mutex>

#include "skald/engine.h"
#include "support/test_database.h"

namespace skald {
namespace {

using testing::HasSubstr;

struct Errand {
  std::string what;
};
BOOST_DESCRIBE_STRUCT(Errand, (), (what))

Saga<Errand> waiting(const std::string& type, const std::string& first) {
  return Saga<Errand>(type).local(first, [](Local&, Errand&) {}).nothing_to_undo().await("go", "go").timeout(1h);
}

// Of sagas in flight; on a slow machine others come beside them.
struct Warnings final : Observer {
  void log(Level level, std::string_view message, std::string_view fields) override {
    const std::lock_guard lock(mutex);
    if (level == Level::warn && message.starts_with("sagas are in flight"))
      lines.push_back(std::string(message) + " " + std::string(fields));
  }
  std::mutex mutex;
  std::vector<std::string> lines;
};

class SagaStartTest : public testing::TestWithParam<Dialect> {
 protected:
  // Starts an engine that has this saga, and ends it; begins one of it where `begins`.
  std::string run(const Saga<Errand>& saga, bool works, bool begins = false) {
    Engine engine(env_, **db_, {.works = works});
    engine.sagas().add(saga);
    engine.start();
    const std::string id = begins ? engine.sagas().run(saga, Errand{}).id : "";
    engine.stop();
    return id;
  }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Warnings warnings_;
  Env env_{*clock_, *random_, warnings_};
  std::unique_ptr<test::TestDatabase> db_ = test::TestDatabase::of(GetParam(), env_);
};
INSTANTIATE_TEST_SUITE_P(Both, SagaStartTest, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& which) { return which.param == Dialect::sqlite ? "sqlite" : "postgres"; });

TEST_P(SagaStartTest, AChangedDefinitionStopsTheStartWhetherTheEngineWorksOrNot) {
  const std::string id = run(waiting("errand", "leave"), true, true);
  for (const bool works : {true, false}) {
    try {
      run(waiting("errand", "walk"), works);
      ADD_FAILURE() << "it started";
    } catch (const Invalid& error) {
      EXPECT_EQ(error.code(), "SAGA_VERSION");
      EXPECT_THAT(error.what(), HasSubstr(id));
    }
  }
  run(waiting("errand", "leave"), true);
  EXPECT_TRUE(warnings_.lines.empty());
}

TEST_P(SagaStartTest, SagasThatNothingDefinesAreNamedOnce) {
  const std::string id = run(waiting("errand", "leave"), true, true);
  run(waiting("journey", "leave"), true);
  ASSERT_EQ(warnings_.lines.size(), 1u);
  EXPECT_THAT(warnings_.lines[0], HasSubstr(R"({"type":"errand","version":1,"count":1,"ids":[")" + id + "\"]}"));
}

}  // namespace
}  // namespace skald
