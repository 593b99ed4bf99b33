// What a program finds in flight when it starts.
#include "saga/fitting.h"

#include <gmock/gmock.h>

#include <thread>

#include "saga/saga_fixture.h"
#include "saga/shape.h"

namespace skald::saga {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class FittingTest : public SagaFixture {
 protected:
  static Saga<Trip> trip(const std::string& second = "book") {
    return Saga<Trip>("trip")
        .local(second, adds(second))
        .undo(removes(second))
        .await("go", "go", [](Local&, Trip&, const RawJson&) {})
        .timeout(1h)
        .local("end", adds("end"))
        .pivot();
  }
  static Registry knowing(const std::vector<Saga<Trip>>& sagas) {
    Registry out;
    for (const Saga<Trip>& saga : sagas) out.add(saga.definition());
    return out;
  }
  // As a program with these sagas would when it starts.
  std::vector<tables::saga::InFlight> fit(const std::vector<Saga<Trip>>& sagas) {
    std::vector<tables::saga::InFlight> strangers;
    const Registry registry = knowing(sagas);
    db().write("fit", [&](Transaction& tx) { strangers = fit_in_flight(tx, registry); });
    return strangers;
  }
  std::string refusal(const std::vector<Saga<Trip>>& sagas) {
    try {
      fit(sagas);
    } catch (const Invalid& error) {
      return error.code() + ": " + error.what();
    }
    return "";
  }
  std::string begin(const Saga<Trip>& saga) {
    know(saga);
    return run(saga).id;
  }
  void end(const std::string& id) {
    db().write("go", [&](Transaction& tx) { runner_->signal(tx, id, "go", "{}", "s" + id); });
    runner_->note_due(Duration::zero());
    settle(*runner_);
  }
};
INSTANTIATE_TEST_SUITE_P(Both, FittingTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(FittingTest, ADefinitionThatHasNotChangedIsNoMatter) {
  fit({trip()});
  begin(trip());
  EXPECT_THAT(fit({trip()}), IsEmpty());
  const auto same_steps = Saga<Trip>("trip")
                              .local("book", refuses())
                              .undo(adds("other"))
                              .retry(9, 1s)
                              .writes("seat")
                              .holds("seat", &Trip::name, exclusive)
                              .commit()
                              .await("go", "go", [](Local&, Trip&, const RawJson&) {})
                              .timeout(2h)
                              .local("end", adds("another end"))
                              .pivot()
                              .deadline(3h);
  EXPECT_EQ(refusal({same_steps}), "") << "functions, times and locks may change";
}

TEST_P(FittingTest, AChangedDefinitionUnderTheSameVersionIsRefusedWithWhatDiffersAndWhatToDo) {
  fit({trip()});
  const std::string id = begin(trip());
  const std::string why = refusal({trip("reserve")});
  EXPECT_THAT(why, HasSubstr("SAGA_VERSION: "));
  EXPECT_THAT(why, HasSubstr("'trip' version 1"));
  EXPECT_THAT(why, HasSubstr(id));
  EXPECT_THAT(why, HasSubstr(R"(step 1 was "book" local, undo local and is "reserve" local, undo local)"));
  EXPECT_THAT(why, HasSubstr("higher version()"));
  EXPECT_EQ(refusal({trip()}), "") << "the refused one left nothing behind";
  EXPECT_EQ(refusal({trip(), trip("reserve").version(2)}), "") << "as it said";
}

TEST_P(FittingTest, AChangedDefinitionWithoutSagasInFlightTakesThePlaceOfTheOld) {
  fit({trip()});
  end(begin(trip()));
  EXPECT_EQ(refusal({trip("reserve")}), "");
  begin(trip("reserve").version(2));
  EXPECT_EQ(refusal({trip("again"), trip("reserve").version(2)}), "") << "those in flight are of another version";
  EXPECT_NE(refusal({trip("again"), trip("reserved").version(2)}), "");
}

TEST_P(FittingTest, SagasOfADatabaseWithoutShapesAreTakenToFit) {
  begin(trip("reserve"));
  EXPECT_EQ(refusal({trip("reserve")}), "");
  EXPECT_NE(refusal({trip()}), "");
}

TEST_P(FittingTest, AVersionThatIsNotAddedIsRefusedWithItsSagas) {
  const std::string id = begin(trip());
  const std::string why = refusal({trip().version(2)});
  EXPECT_THAT(why, HasSubstr("SAGA_VERSION: "));
  EXPECT_THAT(why, HasSubstr(id));
}

TEST_P(FittingTest, SagasOfATypeThatNothingDefinesAreNamedAndRefuseNothing) {
  know(trip());
  for (int i = 0; i < 7; ++i) run(trip());
  const auto strangers = fit({Saga<Trip>("walk").local("go", adds("go")).pivot()});
  ASSERT_EQ(strangers.size(), 1u);
  EXPECT_EQ(strangers[0].type, "trip");
  EXPECT_EQ(strangers[0].version, 1);
  EXPECT_EQ(strangers[0].count, 7);
  EXPECT_EQ(strangers[0].ids.size(), 5u);
}

TEST_P(FittingTest, ProgramsThatStartAtOnceDoNotDisturbEachOther) {
  std::atomic<int> refused{0};
  {
    std::vector<std::jthread> programs;
    for (int i = 0; i < 8; ++i)
      programs.emplace_back([&, i] {
        for (int n = 0; n < 10; ++n) try {
            fit({trip(i % 2 == 0 ? "old" : "new"), trip("same").version(n + 2)});
          } catch (const Error&) {
            ++refused;
          }
      });
  }
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(rows_in("skald_definition"), 11);
}

// On SQLite every writer is alone.
class FittingOnPostgresTest : public FittingTest {};
INSTANTIATE_TEST_SUITE_P(One, FittingOnPostgresTest, testing::Values(Dialect::postgres), dialect_name);

TEST_P(FittingOnPostgresTest, WhoStartsWaitsForTheOneThatIsStarting) {
  fit({trip()});
  know(trip("reserve"));
  std::string second;
  std::atomic<bool> went_ahead{false};
  std::jthread other;
  const auto waits = [](Transaction& tx) {
    return tx.query(
                 "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT "
                 "oid FROM pg_database WHERE datname = current_database())")
               .get<int>(0, 0) > 0;
  };
  db().write("first", [&](Transaction& tx) {
    fit_in_flight(tx, knowing({trip("reserve")}));
    // Its saga is there with its definition, for whoever comes next.
    runner_->start_in(tx, registry_.latest("trip"), std::make_shared<Trip>(), {});
    other = std::jthread([&] {
      second = refusal({trip()});
      went_ahead = true;
    });
    while (!waits(tx) && !went_ahead) {}
  });
  other.join();
  EXPECT_THAT(second, HasSubstr(R"(step 1 was "reserve")"));
}

TEST(Shape, SaysOfEachStepWhatASagaInFlightReliesOn) {
  const auto leg = Saga<Trip>("leg").version(3).local("fly", adds("leg")).pivot();
  const auto call = [](Remote&, Trip&) {};
  const auto trip = Saga<Trip>("trip")
                        .given("asked")
                        .undo(removes("asked"))
                        .local("a \"b\"\n", adds("a"))
                        .nothing_to_undo()
                        .remote("call", call)
                        .undo(call)
                        .each("legs", &Trip::legs, [](Local&, Trip&, std::string&) {})
                        .undo(&Trip::legs, [](Remote&, Trip&, std::string&) {})
                        .all("stay", {{"hotel", call, call}, {"car", call, call}})
                        .child<Trip>(
                            "leg", leg, [](const Trip& t) { return t; }, [](Local&, Trip&, const Trip&) {})
                        .nothing_to_undo()
                        .sleep("rest", 1h)
                        .await("go", "gone", [](Local&, Trip&, const RawJson&) {})
                        .local("end", adds("end"))
                        .pivot();
  EXPECT_EQ(shape_of(trip.definition()),
            R"(with a way back
"asked" given, undo local
"a \"b\"\n" local
"call" remote, undo remote
"legs" local each, undo remote
"stay" remote of ["hotel","car"], undo remote
"leg" child "leg" version 3
"rest" sleep
"go" await "gone"
"end" local, pivot
)") << "stored shapes are compared with this text: it must not change";
  EXPECT_EQ(shape_of(Saga<Trip>("trip").local("a", adds("a")).forward_only().definition()),
            "forward only\n\"a\" local\n");
}

TEST(Shape, TheFirstDifferenceIsTold) {
  EXPECT_EQ(first_difference("x\na\nb\n", "x\na\nc\n"), "step 2 was b and is c");
  EXPECT_EQ(first_difference("x\na\n", "x\na\nb\n"), "step 2 is new: b");
  EXPECT_EQ(first_difference("x\na\nb\n", "x\na\n"), "step 2 is gone: b");
  EXPECT_EQ(first_difference("with a way back\na\n", "forward only\na\n"),
            "it was with a way back and is forward only");
}

}  // namespace
}  // namespace skald::saga
