// Schemas and their versions.
#include "store_suite.h"

namespace skald::test {
namespace {

class StoreMigration : public StoreTest {
 protected:
  void migrate(std::vector<Migration> steps, std::string_view component = "shop") { db().migrate(component, steps); }
  int applied() {
    return db().read_result([](Transaction& tx) {
      return tx.query("SELECT count(*) FROM skald_schema WHERE component = 'shop'").get<int>(0, 0);
    });
  }
  const Migration one{.version = 1,
                      .name = "first",
                      .sql = "CREATE TABLE shop (id BIGINT PRIMARY KEY); INSERT INTO shop VALUES (1); -- end;\n",
                      .postgres_sql = ""};
  const Migration two{
      .version = 2, .name = "second", .sql = "ALTER TABLE shop ADD COLUMN name TEXT DEFAULT 'a;b'", .postgres_sql = ""};
};
SKALD_ON_EVERY_STORE(StoreMigration);

TEST_P(StoreMigration, AppliesEachStepOnce) {
  migrate({one});
  migrate({one});
  EXPECT_EQ(applied(), 1);
  migrate({one, two});
  migrate({one, two});
  EXPECT_EQ(applied(), 2);
  db().read([](Transaction& tx) {
    EXPECT_EQ(tx.query("SELECT name FROM shop").size(), 1u);
    EXPECT_EQ(tx.query("SELECT name FROM shop").get<std::string>(0, 0), "a;b");
  });
}

TEST_P(StoreMigration, TakesTheOtherTextWhereTheDialectsDiffer) {
  migrate({{.version = 1,
            .name = "differs",
            .sql = "CREATE TABLE on_sqlite (id BIGINT)",
            .postgres_sql = "CREATE TABLE on_postgres (id BIGINT)"}});
  db().read(
      [&](Transaction& tx) { tx.query(on_postgres() ? "SELECT id FROM on_postgres" : "SELECT id FROM on_sqlite"); });
}

TEST_P(StoreMigration, KeepsComponentsApart) {
  migrate({one});
  migrate({{.version = 1, .name = "other", .sql = "CREATE TABLE other (id BIGINT)", .postgres_sql = ""}}, "other");
  EXPECT_EQ(applied(), 1);
}

TEST_P(StoreMigration, RefusesAnAppliedStepWithAnotherText) {
  migrate({one});
  Migration changed = one;
  changed.sql += "CREATE TABLE extra (id BIGINT)";
  const std::string text = expect_error<Invalid>("SCHEMA_CHANGED", [&] { migrate({changed, two}); });
  EXPECT_NE(text.find("first"), std::string::npos) << text;
  EXPECT_EQ(applied(), 1);
}

TEST_P(StoreMigration, RefusesADatabaseThatIsNewerThanTheProgramCanLiveWith) {
  Migration breaking = two;
  breaking.oldest_program = 2;
  migrate({one, breaking});
  const std::string text = expect_error<Invalid>("SCHEMA_NEWER", [&] { migrate({one}); });
  EXPECT_NE(text.find("version 2"), std::string::npos) << text;
}

TEST_P(StoreMigration, LetsAnOlderProgramLiveBesideAnAdditiveStep) {
  migrate({one, two});
  migrate({one});
  EXPECT_EQ(applied(), 2);
}

TEST_P(StoreMigration, LeavesNothingOfAStepThatFails) {
  EXPECT_THROW(migrate({one,
                        {.version = 2,
                         .name = "broken",
                         .sql = "CREATE TABLE half (id BIGINT); CREATE NONSENSE",
                         .postgres_sql = ""}}),
               Error);
  EXPECT_THROW(db().read([](Transaction& tx) { tx.query("SELECT * FROM half"); }), Error);
  migrate({one, two});
  EXPECT_EQ(applied(), 2);
}

}  // namespace
}  // namespace skald::test
