// Parameters, results and typed rows.
#include <limits>

#include "store_suite.h"

namespace skald::test {

enum class Mood { calm, wild };
BOOST_DESCRIBE_ENUM(Mood, calm, wild)

struct Pet {
  std::string id;
  std::int64_t age = 0;
  double weight = 0;
  bool tame = false;
  Mood mood = Mood::calm;
  Time born{};
  std::optional<std::string> nickname;
  std::optional<std::int64_t> chip;
  std::optional<Time> died;
  RawJson notes;
  std::int64_t version = 0;
  bool operator==(const Pet&) const = default;
};
BOOST_DESCRIBE_STRUCT(Pet, (), (id, age, weight, tame, mood, born, nickname, chip, died, notes, version))

}  // namespace skald::test

template <> struct skald::Table<skald::test::Pet> {
  static constexpr std::string_view name = "pet", key = "id";
};

namespace skald::test {
namespace {

class StoreRows : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    if (HasFatalFailure()) return;
    db().write("create", [](Transaction& tx) {
      tx.execute(
          "CREATE TABLE pet (id TEXT PRIMARY KEY, age BIGINT NOT NULL, weight DOUBLE PRECISION NOT NULL, tame BOOLEAN "
          "NOT NULL, "
          "mood TEXT NOT NULL, born BIGINT NOT NULL, nickname TEXT, chip BIGINT, died BIGINT, notes TEXT NOT NULL, "
          "version BIGINT NOT NULL)");
    });
  }
};
SKALD_ON_EVERY_STORE(StoreRows);

Pet full_pet() {
  return {.id = "p1",
          .age = std::numeric_limits<std::int64_t>::min(),
          .weight = 0.1,
          .tame = true,
          .mood = Mood::wild,
          .born = from_micros(1'700'000'000'123'456),
          .nickname = "it's \"Q\"",
          .chip = std::numeric_limits<std::int64_t>::max(),
          .died = from_micros(-1),
          .notes = {R"({"a": 1.0})"},
          .version = 1};
}

TEST_P(StoreRows, OfADescribedStructComeBackAsTheyWere) {
  const Pet full = full_pet();
  Pet bare;
  bare.id = "p2";
  bare.notes.text = "null";
  db().write("insert", [&](Transaction& tx) {
    tx.insert(full);
    tx.insert(bare);
  });
  db().read([&](Transaction& tx) {
    EXPECT_EQ(tx.find<Pet>("p1"), full);
    EXPECT_EQ(tx.find<Pet>("p2"), bare);
    EXPECT_EQ(tx.find<Pet>("p3"), std::nullopt);
    EXPECT_EQ(tx.select<Pet>("WHERE mood = $1 ORDER BY id", Mood::wild), std::vector<Pet>{full});
    EXPECT_EQ(tx.select<Pet>("ORDER BY id DESC LIMIT $1", 5).size(), 2u);
  });
}

TEST_P(StoreRows, AreSavedWhereTheVersionIsStillTheOneThatWasRead) {
  db().write("insert", [&](Transaction& tx) { tx.insert(full_pet()); });
  Pet mine = db().read_result([](Transaction& tx) { return *tx.find<Pet>("p1"); });
  Pet theirs = mine;
  db().write("save", [&](Transaction& tx) {
    Pet changed = mine;
    changed.age = 5;
    tx.save(changed);
    EXPECT_EQ(changed.version, 2);
  });
  expect_error<Stale>("STALE_ROW", [&] {
    db().write("save", [&](Transaction& tx) {
      put(tx, "lost", 1);
      theirs.age = 6;
      tx.save(theirs);
    });
  });
  db().read([](Transaction& tx) {
    EXPECT_EQ(tx.find<Pet>("p1")->age, 5);
    EXPECT_EQ(tx.find<Pet>("p1")->version, 2);
  });
  EXPECT_EQ(items(), "");
}

TEST_P(StoreRows, AreLockedAndFound) {
  db().write("insert", [&](Transaction& tx) { tx.insert(full_pet()); });
  db().write("lock", [&](Transaction& tx) {
    EXPECT_EQ(tx.find_locked<Pet>("p1"), full_pet());
    EXPECT_EQ(tx.find_locked<Pet>("none"), std::nullopt);
  });
}

TEST_P(StoreRows, AreSavedWithoutARoundTripWhereTheyAreLocked) {
  db().write("insert", [&](Transaction& tx) { tx.insert(full_pet()); });
  db().write("save", [&](Transaction& tx) {
    Pet pet = *tx.find_locked<Pet>("p1");
    for (const int age : {5, 6}) {
      pet.age = age;
      tx.enqueue_save(pet);
    }
    EXPECT_EQ(pet.version, full_pet().version + 2);
    EXPECT_EQ(tx.find<Pet>("p1"), pet);
  });
}

TEST_P(StoreRows, AreFoundBehindAStatementInItsRoundTrip) {
  db().write("insert", [&](Transaction& tx) { tx.insert(full_pet()); });
  db().write("find", [&](Transaction& tx) {
    const Transaction::Statement touch{"UPDATE pet SET age = 7 WHERE id = $1", {"p1"}};
    const auto [touched, pet] = tx.find_behind<Pet>(touch, "p1");
    EXPECT_EQ(touched.affected(), 1);
    EXPECT_EQ(pet->age, 7);
    EXPECT_EQ(tx.find_behind<Pet>(touch, "none").second, std::nullopt);
  });
}

TEST_P(StoreRows, CountWhatAStatementTouched) {
  db().write("count", [&](Transaction& tx) {
    for (const char* id : {"a", "b", "c"}) put(tx, id, 1);
    EXPECT_EQ(tx.execute("UPDATE item SET amount = 2 WHERE id <> $1", "a"), 2);
    EXPECT_EQ(tx.execute("UPDATE item SET amount = 3 WHERE id = 'none'"), 0);
    EXPECT_EQ(tx.query("DELETE FROM item WHERE amount = 2 RETURNING id").size(), 2u);
    EXPECT_EQ(tx.execute("INSERT INTO item (id, amount) VALUES ('a', 1) ON CONFLICT (id) DO NOTHING"), 0);
  });
}

TEST_P(StoreRows, WithoutAResultAreEmpty) {
  db().read([](Transaction& tx) {
    const Rows rows = tx.query("SELECT id, amount FROM item");
    EXPECT_TRUE(rows.empty());
    EXPECT_EQ(rows.columns(), 2u);
    EXPECT_EQ(tx.query("SELECT sum(amount) FROM item").get<std::optional<std::int64_t>>(0, 0), std::nullopt);
  });
}

TEST_P(StoreRows, StayValidAfterLaterStatements) {
  db().write("keep", [&](Transaction& tx) {
    put(tx, "kept", 1);
    const Rows kept = tx.query("SELECT id FROM item");
    const std::string_view view = kept.get<std::string_view>(0, 0);
    for (int i = 0; i < 50; ++i) tx.query("SELECT $1", "other text " + std::to_string(i));
    EXPECT_EQ(view, "kept");
  });
}

class StoreParameters : public StoreTest {};
SKALD_ON_EVERY_STORE(StoreParameters);

TEST_P(StoreParameters, MayComeInAnyOrderAndSeveralTimes) {
  db().write("order", [&](Transaction& tx) {
    tx.execute("INSERT INTO item (amount, id) VALUES ($2, $1)", "a", 7);
    tx.execute("UPDATE item SET amount = amount - $4 + $2 + $3 + $2 WHERE id = $1", "a", 100, 5, 7);
    EXPECT_EQ(tx.query("SELECT amount FROM item WHERE $2 = amount AND id = $1 AND amount = $2", "a", 205).size(), 1u);
    EXPECT_EQ(tx.query("SELECT id FROM item WHERE id = $10 OR amount IN ($1,$2,$3,$4,$5,$6,$7,$8,$9)", 1, 2, 3, 4, 5, 6,
                       7, 8, 9, "a")
                  .size(),
              1u);
  });
}

TEST_P(StoreParameters, AreNotLookedForInLiteralsAndComments) {
  db().read([](Transaction& tx) {
    const Rows rows = tx.query("SELECT 'costs $1', 'it''s $2' /* $3 */, CAST($1 AS TEXT) -- $4\n", "x");
    EXPECT_EQ(rows.get<std::string>(0, 0), "costs $1");
    EXPECT_EQ(rows.get<std::string>(0, 1), "it's $2");
    EXPECT_EQ(rows.get<std::string>(0, 2), "x");
  });
}

TEST_P(StoreParameters, HoldAnyTextWithoutBecomingSql) {
  const std::string texts[] = {"",   "'; DROP TABLE item; --", "\\",      "\"",   "$1",
                               "{}", "line\nline\ttab",        "żółć 🦊", "NULL", "%_"};
  db().write("texts", [&](Transaction& tx) {
    int amount = 0;
    for (const std::string& text : texts) put(tx, text, ++amount);
    for (const std::string& text : texts)
      EXPECT_EQ(tx.query("SELECT id FROM item WHERE id = $1", text).get<std::string>(0, 0), text);
  });
}

TEST_P(StoreParameters, HoldAMegabyte) {
  std::string big;
  for (int i = 0; big.size() < (1u << 20); ++i) big += "żółć " + std::to_string(i);
  db().write("big", [&](Transaction& tx) {
    put(tx, "small", 1);
    tx.execute("CREATE TABLE big (text TEXT NOT NULL)");
    for (int i = 0; i < 4; ++i) tx.enqueue("INSERT INTO big (text) VALUES ($1)", big);
    EXPECT_EQ(tx.query("SELECT text FROM big").size(), 4u);
  });
  db().read([&](Transaction& tx) { EXPECT_EQ(tx.query("SELECT text FROM big").get<std::string>(3, 0), big); });
}

TEST_P(StoreParameters, ServeMoreStatementsThanTheStoreKeeps) {
  db().write("many", [&](Transaction& tx) {
    put(tx, "a", 1);
    for (int round = 0; round < 2; ++round)
      for (int i = 0; i < 700; ++i)
        ASSERT_EQ(tx.query("SELECT amount + " + std::to_string(i) + " FROM item WHERE id = $1", "a").get<int>(0, 0),
                  i + 1);
  });
  if (on_postgres()) {
    db().read([](Transaction& tx) {
      EXPECT_LE(tx.query("SELECT count(*) FROM pg_prepared_statements").get<int>(0, 0), 520);
    });
  }
}

TEST_P(StoreParameters, OfAStatementThatFailedOnceCanBeRunAgain) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(db().write("early", [&](Transaction& tx) { tx.query("SELECT * FROM later WHERE id = $1", 1); }),
                 Error);
  }
  db().write("create", [](Transaction& tx) { tx.execute("CREATE TABLE later (id BIGINT PRIMARY KEY)"); });
  db().write("late", [](Transaction& tx) { EXPECT_EQ(tx.query("SELECT * FROM later WHERE id = $1", 1).size(), 0u); });
}

TEST_P(StoreParameters, SurviveATableThatChangesItsColumns) {
  db().write("put", [&](Transaction& tx) { put(tx, "a", 1); });
  for (int i = 0; i < 7; ++i)
    db().read([](Transaction& tx) { EXPECT_EQ(tx.query("SELECT * FROM item WHERE id = $1", "a").columns(), 2u); });
  db().write("alter", [](Transaction& tx) { tx.execute("ALTER TABLE item ADD COLUMN more TEXT"); });
  db().read([](Transaction& tx) { EXPECT_EQ(tx.query("SELECT * FROM item WHERE id = $1", "a").columns(), 3u); });
}

}  // namespace
}  // namespace skald::test
