#include <gmock/gmock.h>

#include "isolation/analyser_fixture.h"

namespace skald::analyser {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(LockOrder, OppositeOrdersAreToldAsRestartsAndNotAsDeadlocks) {
  const auto forth = saga("forth")
                         .local("one", work)
                         .nothing_to_undo()
                         .holds("account", &Work::id, exclusive)
                         .local("two", work)
                         .nothing_to_undo()
                         .holds("product", &Work::sku, exclusive);
  const auto back = saga("back")
                        .local("one", work)
                        .nothing_to_undo()
                        .holds("product", &Work::sku, exclusive)
                        .local("two", work)
                        .nothing_to_undo()
                        .holds("account", &Work::id, exclusive);
  const Report report = analysed(forth, back);
  const Finding* found = find(report, Anomaly::lock_order, "back", "forth");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, Severity::warning);
  EXPECT_THAT(found->explanation, HasSubstr("never deadlock"));
  EXPECT_THAT(*found->advice, HasSubstr(R"(.holds("account", …) beside "product" on 'one')"));
  EXPECT_EQ(find(report, Anomaly::lock_order, "forth", "back"), nullptr);
  EXPECT_EQ(report.worst(), 0) << "the engine covers it";

  const auto at_once = saga("back")
                           .local("one", work)
                           .nothing_to_undo()
                           .holds("product", &Work::sku, exclusive)
                           .holds("account", &Work::id, exclusive);
  EXPECT_TRUE(analysed(forth, at_once).findings.empty());
}

TEST(LockOrder, DoesNotMatterWhereAllShare) {
  const auto back = saga("back")
                        .local("one", work)
                        .nothing_to_undo()
                        .holds("product", &Work::sku, exclusive)
                        .local("two", work)
                        .nothing_to_undo()
                        .holds("account", &Work::id, shared);
  EXPECT_TRUE(analysed(back).findings.empty());
}

TEST(LockOrder, OppositeRowLocksOfOneTransactionCanDeadlock) {
  const auto forth = saga("forth")
                         .local("both", work)
                         .nothing_to_undo()
                         .reads("account", Guard::row_lock)
                         .reads("product", Guard::row_lock);
  const auto back = saga("back")
                        .local("both", work)
                        .nothing_to_undo()
                        .reads("product", Guard::row_lock)
                        .reads("account", Guard::row_lock);
  const auto apart = saga("back")
                         .local("one", work)
                         .nothing_to_undo()
                         .reads("product", Guard::row_lock)
                         .commit()
                         .local("two", work)
                         .nothing_to_undo()
                         .reads("account", Guard::row_lock);
  EXPECT_EQ(cover(analysed(forth, back), Anomaly::lock_order, "back", "forth"), "nothing");
  EXPECT_EQ(analysed(forth, back).worst(), 1);
  EXPECT_EQ(analysed(forth, apart).worst(), 0);
}

TEST(StepOrder, WhatOthersReadAndMayBeUndoneIsBetterWrittenLate) {
  const auto early = saga("early")
                         .local("reserve", work)
                         .undo(work)
                         .writes("stock")
                         .remote("check address", call)
                         .nothing_to_undo()
                         .remote("charge", call)
                         .pivot();
  const Report report = analysed(early, reading());
  const Finding* found = find(report, Anomaly::step_order, "early", "look");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, Severity::note);
  EXPECT_THAT(*found->advice, HasSubstr("put 'reserve' behind 'check address'"));
  EXPECT_EQ(find(analysed(reserving(), reading()), Anomaly::step_order, "reserve", "look"), nullptr);
}

TEST(StepOrder, WhatNothingUndoesBelongsBehindThePivot) {
  const auto hasty = saga("hasty").local("send", work).nothing_to_undo().writes("mail").remote("charge", call).pivot();
  const Finding* found = nullptr;
  const Report report = analysed(hasty);
  found = find(report, Anomaly::step_order, "hasty", "hasty");
  ASSERT_NE(found, nullptr);
  EXPECT_THAT(*found->advice, HasSubstr("right behind the pivot 'charge'"));
}

TEST(StepOrder, WhatAnEarlierStepsUndoTakesBackMayBeChangedBeforeThePivot) {
  const auto careful = saga("careful")
                           .local("create", work)
                           .undo(work)
                           .writes("order")
                           .local("price", work)
                           .nothing_to_undo()
                           .writes("order")
                           .remote("charge", call)
                           .pivot();
  EXPECT_EQ(find(analysed(careful), Anomaly::step_order, "careful", "careful"), nullptr);
}

TEST(StepOrder, ReserveBeforeTheCharge) {
  const auto late =
      saga("late").remote("charge", call).pivot().local("reserve", work).writes("stock", Guard::commutative);
  const Report report = analysed(late);
  const Finding* found = find(report, Anomaly::step_order, "late", "late");
  ASSERT_NE(found, nullptr);
  EXPECT_THAT(*found->advice, HasSubstr("reserve before the pivot"));
  EXPECT_EQ(report.worst(), 0);
  const auto confirmed = saga("place")
                             .local("reserve", work)
                             .undo(work)
                             .writes("stock", Guard::commutative)
                             .remote("charge", call)
                             .pivot()
                             .local("confirm", work)
                             .writes("stock", Guard::commutative);
  EXPECT_EQ(find(analysed(confirmed), Anomaly::step_order, "place", "place"), nullptr);
}

TEST(Children, AreJudgedAsPartOfTheirParent) {
  const auto child = saga("child").local("save", work).undo(work).writes("stock");
  auto parent = saga("parent").local("see", work).nothing_to_undo().reads("stock");
  parent.child<Work>("do it", child, [](const Work& w) { return w; }, [](Local&, Work&, const Work&) {});
  parent.nothing_to_undo();
  const Report report = analysed(child, parent);
  EXPECT_THAT(report.sagas, testing::ElementsAre("parent"));
  const Finding* found = find(report, Anomaly::lost_update, "parent", "parent");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->first.step, "do it / save");
}

TEST(Versions, AreToldApart) {
  const auto first = setting(), second = setting().version(2);
  EXPECT_THAT(analysed(first, second).sagas, testing::ElementsAre("set v1", "set v2"));
}

// The place-order and cancel-order sagas of the order service.
Saga<Work> place_order(bool locks_order) {
  auto out = saga("order.place").local("create order", work).undo(work).writes("order");
  if (locks_order) out.holds("order", &Work::id, exclusive);
  return out.local("reserve stock", work)
      .undo(work)
      .writes("product", Guard::commutative)
      .remote("charge payment", call)
      .pivot()
      .writes("payment", Guard::idempotency_key)
      .local("confirm stock", work)
      .writes("product", Guard::commutative)
      .local("confirm order", work)
      .writes("order");
}
Saga<Work> cancel_order(bool locks_order) {
  auto out = saga("order.cancel").local("check order", work).nothing_to_undo().reads("order");
  if (locks_order) out.holds("order", &Work::id, exclusive);
  return out.remote("refund", call)
      .pivot()
      .writes("payment", Guard::idempotency_key)
      .local("give back stock", work)
      .writes("product", Guard::commutative)
      .local("cancel order", work)
      .writes("order");
}

TEST(PlaceOrder, IsCleanWithItsOrderLockedAndItsStockCommutative) {
  const Report report = analysed(place_order(true), cancel_order(true));
  EXPECT_EQ(report.worst(), 0) << report_text(report);
  EXPECT_EQ(cover(report, Anomaly::dirty_read, "order.cancel", "order.place"), "semantic lock");
  EXPECT_EQ(cover(report, Anomaly::lost_update, "order.place", "order.cancel"), "semantic lock");
  EXPECT_EQ(cover(report, Anomaly::dirty_undo, "order.place", "order.place"), "semantic lock");
}

TEST(PlaceOrder, WithoutTheLockACancellationMeetsAnOrderInTheMaking) {
  const Report report = analysed(place_order(false), cancel_order(true));
  EXPECT_EQ(cover(report, Anomaly::dirty_read, "order.cancel", "order.place"), "nothing");
  EXPECT_EQ(cover(report, Anomaly::dirty_undo, "order.place", "order.cancel"), "nothing");
  for (const Finding& each : report.findings)
    EXPECT_TRUE(each.covered_by || each.severity == Severity::note || each.resource == "order") << each.explanation;
  const std::string text = report_text(report);
  EXPECT_THAT(text, HasSubstr("error: dirty read on order\n  order.cancel 'check order' reads order while order.place "
                              "'create order' can still undo what it wrote.\n  Nothing covers it.\n  To do: hold order "
                              "in order.place from 'create order' on (semantic lock"));
}

TEST(Report, CountsWhatIsCoveredAndShowsItOnDemand) {
  const Report report = analysed(updating(Guard::commutative), setting(Guard::commutative));
  EXPECT_EQ(report.worst(), 0);
  EXPECT_THAT(report_text(report), Not(HasSubstr("lost update")));
  EXPECT_THAT(report_text(report), HasSubstr("2 sagas, 0 findings that nothing covers, 2 covered"));
  EXPECT_THAT(report_text(report, true), HasSubstr("covered: lost update"));
  EXPECT_THAT(report_text(report, true), HasSubstr("Covered by: commutative update."));
  EXPECT_THAT(report_text(report, true), Not(HasSubstr("note: ")));
}

TEST(Report, AdviceIsCountedAndShownOnDemandAsSuch) {
  Report report;
  report.findings.emplace_back();
  report.findings[0].anomaly = Anomaly::step_order;
  report.findings[0].advice = "put it behind the pivot";
  EXPECT_EQ(report_text(report), "0 sagas, 0 findings that nothing covers, 0 covered, 1 of advice\n");
  EXPECT_THAT(report_text(report, true), HasSubstr("advice: step order on "));
}

TEST(Report, IsJsonThatCanBeReadAgainAndPutsTheWorstFirst) {
  const Report report = analysed(place_order(false), cancel_order(true));
  const auto again = from_json<Report>(report_json(report));
  EXPECT_EQ(again.uncovered, report.uncovered);
  EXPECT_EQ(report_text(again, true), report_text(report, true));
  EXPECT_THAT(report_json(report), HasSubstr(R"("first":{"saga":"order.cancel","step":"check order"})"));
  EXPECT_EQ(report.findings.front().severity, Severity::error);
  EXPECT_TRUE(report.findings.back().covered_by || report.findings.back().severity == Severity::note);
}

TEST(Report, TellsTheWorstOfSeveralAndPutsItFirst) {
  const auto mixed = saga("mixed")
                         .local("see", work)
                         .nothing_to_undo()
                         .reads("stock")
                         .reads("order")
                         .remote("ask", call)
                         .pivot()
                         .local("save", work)
                         .writes("stock", Guard::commutative)
                         .writes("order", Guard::version_file)
                         .local("save again", work)
                         .writes("stock");
  const Report report = analysed(mixed, setting());
  const Finding& first = report.findings.front();
  EXPECT_EQ(first.anomaly, Anomaly::lost_update);
  EXPECT_EQ(first.resource, "stock");
  EXPECT_EQ(first.first.step, "save again");
  EXPECT_FALSE(first.covered_by);
  EXPECT_TRUE(report.findings.back().covered_by);
}

TEST(Report, OfNoSagasIsClean) { EXPECT_EQ(analyse({}).worst(), 0); }

}  // namespace
}  // namespace skald::analyser
