#include <thread>

#include "saga/saga_fixture.h"

namespace skald::saga {
namespace {

class SemanticLocksTest : public SagaFixture {
 protected:
  // Holds its lock until it is told to end.
  static Saga<Trip> holder(LockMode mode, WhenBusy when_busy, std::string type = "holder") {
    return Saga<Trip>(std::move(type))
        .local("touch", adds("touch"))
        .undo(removes("touch"))
        .holds("product", &Trip::name, mode, when_busy)
        .await("end", "end", [](Local&, Trip&, const RawJson&) {})
        .timeout(1h);
  }
  void end(const std::string& id) {
    db().write("end", [&](Transaction& tx) { runner_->signal(tx, id, "end", "{}", "s"); });
    runner_->note_due(Duration::zero());
    settle(*runner_);
  }
};
INSTANTIATE_TEST_SUITE_P(Both, SemanticLocksTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(SemanticLocksTest, WaitersGoOnInOrderOfArrivalWhenTheHolderEnds) {
  const auto saga = holder(exclusive, wait_up_to(1h));
  know(saga);
  const Started a = start(saga, {.name = "A"}), b = start(saga, {.name = "A"}), c = start(saga, {.name = "A"});
  const Started other = start(saga, {.name = "B"});
  EXPECT_EQ(effects("touch"), 2) << "one at each product";
  EXPECT_EQ(view(b.id).status, SagaStatus::WAITING);
  EXPECT_EQ(view(b.id).step, "touch");
  end(a.id);
  EXPECT_EQ(view(b.id).step, "end") << "it went on by itself";
  EXPECT_EQ(view(c.id).step, "touch") << "the later one still waits";
  end(b.id);
  EXPECT_EQ(view(c.id).step, "end");
  end(c.id);
  end(other.id);
  EXPECT_EQ(rows_in("skald_lock"), 0);
}

TEST_P(SemanticLocksTest, ARejectedSagaIsToldWhoHoldsIt) {
  const auto saga = holder(exclusive, wait_up_to(1h));
  const auto hasty = holder(exclusive, reject, "hasty");
  know(saga);
  know(hasty);
  const Started a = start(saga, {.name = "A"});
  const Started b = start(hasty, {.name = "A"});
  EXPECT_EQ(b.status, SagaStatus::COMPENSATED);
  EXPECT_EQ(b.error->code, "BUSY");
  EXPECT_NE(b.error->message.find(a.id), std::string::npos);
  EXPECT_NE(b.error->message.find("touch"), std::string::npos);
}

TEST_P(SemanticLocksTest, AWaiterWhoseTimeIsOverIsRefusedAndLeavesTheQueue) {
  const auto saga = holder(exclusive, wait_up_to(2ms));
  know(saga);
  const Started a = start(saga, {.name = "A"});
  const Started b = start(saga, {.name = "A"});
  settle(*runner_);
  EXPECT_EQ(view(b.id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(view(b.id).error->code, "BUSY");
  EXPECT_EQ(rows_in("skald_lock"), 1);
  end(a.id);
  EXPECT_EQ(rows_in("skald_lock"), 0);
}

TEST_P(SemanticLocksTest, ARetryingSagaTriesAsOftenAsItSays) {
  const auto saga = holder(exclusive, wait_up_to(1h));
  const auto stubborn = holder(exclusive, try_again(3, 1ms), "stubborn");
  know(saga);
  know(stubborn);
  const Started a = start(saga, {.name = "A"});
  const Started b = start(stubborn, {.name = "A"});
  EXPECT_EQ(b.status, SagaStatus::RUNNING);
  settle(*runner_);
  EXPECT_EQ(view(b.id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(view(b.id).error->code, "BUSY");
  EXPECT_EQ(view(b.id).steps.size(), 3u);
}

TEST_P(SemanticLocksTest, SharersRunSideBySideAndKeepAnExclusiveOneOut) {
  const auto sharing = holder(shared, wait_up_to(1h), "sharing");
  const auto alone = holder(exclusive, wait_up_to(1h), "alone");
  know(sharing);
  know(alone);
  const Started a = start(sharing, {.name = "A"}), b = start(sharing, {.name = "A"});
  const Started c = start(alone, {.name = "A"}), d = start(sharing, {.name = "A"});
  EXPECT_EQ(view(b.id).step, "end");
  EXPECT_EQ(view(c.id).step, "touch");
  EXPECT_EQ(view(d.id).step, "touch") << "who comes later does not overtake the queue";
  end(a.id);
  EXPECT_EQ(view(c.id).step, "touch");
  end(b.id);
  EXPECT_EQ(view(c.id).step, "end");
  EXPECT_EQ(view(d.id).step, "touch");
  end(c.id);
  EXPECT_EQ(view(d.id).step, "end");
}

TEST_P(SemanticLocksTest, ASharerEndsBesideAnotherOnesTransaction) {
  if (GetParam() == Dialect::sqlite) return;  // has one transaction at a time
  const auto sharing = holder(shared, wait_up_to(1h), "sharing");
  const auto alone = holder(exclusive, wait_up_to(1h), "alone");
  know(sharing);
  know(alone);
  const Started a = start(sharing, {.name = "A"}), b = start(sharing, {.name = "A"});
  db().write("another sharer", [&](Transaction& tx) {
    const tables::semantic_lock::Request request{{"product", "A"}, shared};
    ASSERT_TRUE(tables::semantic_lock::probe(tx, std::span(&request, 1)));
    std::thread([&] { end(a.id); }).join();
  });
  EXPECT_EQ(view(a.id).status, SagaStatus::COMPLETED);
  const Started c = start(alone, {.name = "A"});
  EXPECT_EQ(view(c.id).step, "touch");
  end(b.id);
  EXPECT_EQ(view(c.id).step, "end") << "the last sharer lets in who waits";
  end(c.id);
  EXPECT_EQ(rows_in("skald_lock"), 0);
}

TEST_P(SemanticLocksTest, ASagaThatEndsInOneTransactionLeavesNoRow) {
  const auto quick =
      Saga<Trip>("quick").local("touch", adds("touch")).undo(removes("touch")).holds("product", &Trip::name, exclusive);
  know(quick);
  EXPECT_EQ(start(quick, {.name = "A"}).status, SagaStatus::COMPLETED);
  const auto saga = holder(exclusive, wait_up_to(1h));
  know(saga);
  const Started a = start(saga, {.name = "A"});
  const Started b = start(quick, {.name = "A"});
  EXPECT_EQ(b.status, SagaStatus::WAITING) << "but it respects a holder";
  end(a.id);
  EXPECT_EQ(view(b.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(rows_in("skald_lock"), 0);
}

// It learns of its second product only after it has locked the first.
Saga<Trip> pair(const std::string& first, const std::string& second, std::string type) {
  const auto second_once_known = [second](const Trip& t) {
    return t.amount > 0 ? std::vector<std::string>{second} : std::vector<std::string>{};
  };
  return Saga<Trip>(std::move(type))
      .local("one",
             [](Local& step, Trip& t) {
               t.amount = 1;
               count(step, "one");
             })
      .undo(removes("one"))
      .holds(
          "product", [first](const Trip&) { return first; }, exclusive, wait_up_to(1h))
      .commit()
      .local("two", adds("two"))
      .undo(removes("two"))
      .holds("product", second_once_known, exclusive, wait_up_to(1h));
}

TEST_P(SemanticLocksTest, ASagaThatBeginsAnewGivesItsLocksBackAndTakesAllInOrder) {
  const auto ab = pair("A", "B", "ab"), ba = pair("B", "A", "ba");
  know(ab);
  know(ba);
  const Started a = start(ab), b = start(ba);
  EXPECT_EQ(rows_in("skald_lock"), 2) << "each has its first";
  settle(*runner_);
  EXPECT_EQ(view(a.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(view(b.id).status, SagaStatus::COMPLETED) << "not BUSY: nobody was in its way for good";
  EXPECT_EQ(effects("one"), 2);
  EXPECT_EQ(effects("two"), 2);
  EXPECT_EQ(rows_in("skald_lock"), 0);
}

// No saga makes one, so its other half is written by hand.
TEST_P(SemanticLocksTest, ACircleOfWaitsIsBrokenByItsYoungest) {
  const auto saga = pair("A", "B", "ab");
  know(saga);
  const Started young = start(saga);
  const auto write_other_half = [&](const std::string& other) {
    db().write("other half", [&](Transaction& tx) {
      tables::semantic_lock::insert(tx, {{"product", "B"}, other, other, exclusive, true, 0, tx.now(), "x"});
      tables::semantic_lock::insert(tx, {{"product", "A"}, other, other, exclusive, false, 0, tx.now(), "x"});
    });
  };
  write_other_half("0");  // ids grow with time
  settle(*runner_);
  EXPECT_EQ(view(young.id).status, SagaStatus::COMPENSATED) << "it would wait for an hour";
  EXPECT_EQ(view(young.id).error->code, "BUSY");
  EXPECT_EQ(effects("one"), 0);
  db().write("forget", [](Transaction& tx) { tx.execute("DELETE FROM skald_lock"); });
  const Started old = start(saga);
  write_other_half("z");
  settle(*runner_);
  EXPECT_EQ(view(old.id).status, SagaStatus::WAITING) << "the other gives way";
}

TEST_P(SemanticLocksTest, OppositeOrdersDoNotDeadlock) {
  const auto ends = [](const std::string& first, const std::string& second, std::string type) {
    return Saga<Trip>(std::move(type))
        .local("one", adds("one"))
        .undo(removes("one"))
        .holds(
            "product", [first](const Trip&) { return first; }, exclusive, wait_up_to(1h))
        .commit()
        .local("two", adds("two"))
        .undo(removes("two"))
        .holds(
            "product",
            [second](const Trip& t) {
              return t.amount > 0 ? std::vector<std::string>{second} : std::vector<std::string>{};
            },
            exclusive, wait_up_to(1h))
        .local("set", [](Local&, Trip&) {})
        .nothing_to_undo();
  };
  const auto ab = ends("A", "B", "ab"), ba = ends("B", "A", "ba");
  know(ab);
  know(ba);
  std::vector<std::string> ids;
  for (int i = 0; i < 10; ++i) {
    ids.push_back(start(ab, {.amount = 1}).id);
    ids.push_back(start(ba, {.amount = 1}).id);
  }
  settle(*runner_);
  for (const auto& id : ids) EXPECT_EQ(view(id).status, SagaStatus::COMPLETED) << view(id).step;
  EXPECT_EQ(rows_in("skald_lock"), 0);
}

// Holds a product itself, and has a child that holds its own.
class LocksOfARoot : public SemanticLocksTest {
 protected:
  static Saga<Trip> parent(const Saga<Trip>& child, std::string own, LockMode mode) {
    return Saga<Trip>("parent")
        .local("own", adds("own"))
        .undo(removes("own"))
        .holds(
            "product", [own](const Trip&) { return own; }, mode, wait_up_to(1h))
        .commit()
        .child<Trip>(
            "child", child, [](const Trip& t) { return t; }, [](Local&, Trip&, const Trip&) {})
        .nothing_to_undo();
  }
  void becomes_the_childs(LockMode mode) {
    const auto child = holder(exclusive, wait_up_to(1h), "child"), sharing = holder(shared, wait_up_to(1h), "sharing");
    const auto saga = parent(child, "A", mode);
    know(child);
    know(sharing);
    know(saga);
    const Started begun = run(saga, {.name = "A"});
    EXPECT_EQ(view(begun.id + ".1").step, "end");
    EXPECT_EQ(rows_in("skald_lock"), 1);
    const Started late = start(sharing, {.name = "A"});
    EXPECT_EQ(view(late.id).step, "touch") << "the child wants it for itself";
    end(begun.id + ".1");
    EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
    EXPECT_EQ(view(late.id).step, "end");
  }
};
INSTANTIATE_TEST_SUITE_P(Both, LocksOfARoot, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(LocksOfARoot, AreItsChildrens) { becomes_the_childs(exclusive); }
TEST_P(LocksOfARoot, BecomeExclusiveForItsChildren) { becomes_the_childs(shared); }

TEST_P(LocksOfARoot, KeepItsChildrenFromWaitingOutOfOrder) {
  const auto child = holder(exclusive, wait_up_to(1h), "child"), other = holder(exclusive, wait_up_to(1h), "other");
  const auto saga = parent(child, "B", exclusive);
  know(child);
  know(other);
  know(saga);
  const Started holds_a = start(other, {.name = "A"});
  const Started begun = run(saga, {.name = "A"});
  EXPECT_EQ(view(begun.id + ".1").status, SagaStatus::COMPENSATED) << "who has A may want B";
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(view(begun.id).error->code, "BUSY");
  end(holds_a.id);
  EXPECT_EQ(rows_in("skald_lock"), 0);
}

TEST_P(SemanticLocksTest, ASignalEndsItsSagaAndGrantsTheLockUnlessAnotherIsAtItJustThen) {
  const auto waits = Saga<Trip>("waits")
                         .local("touch", adds("touch"))
                         .undo(removes("touch"))
                         .holds("product", &Trip::name, exclusive, wait_up_to(1h))
                         .await("end", "end")
                         .timeout(1h);
  know(waits);
  const Started a = start(waits, {.name = "A"}), b = start(waits, {.name = "A"});
  const auto end_now = [&](const std::string& id) {
    db().write("end", [&](Transaction& tx) { runner_->signal(tx, id, "end", "{}", "s"); });
  };
  const auto holder = [&] {
    return db().read_result([](Transaction& tx) {
      const auto rows = tables::semantic_lock::all(tx, 10);
      return rows.size() == 1 && rows[0].granted ? rows[0].root : "";
    });
  };
  end_now(a.id);
  EXPECT_EQ(view(a.id).status, SagaStatus::COMPLETED) << "no worker was asked";
  EXPECT_EQ(holder(), b.id);
  settle(*runner_);
  if (GetParam() == Dialect::sqlite) return end(b.id);  // has one transaction at a time
  db().write("another", [&](Transaction& tx) {
    const tables::semantic_lock::Place place{"product", "A"};
    tables::semantic_lock::enter(tx, std::span(&place, 1));
    std::thread([&] { end_now(b.id); }).join();
  });
  EXPECT_EQ(view(b.id).status, SagaStatus::WAITING) << "it could not be ended at once";
  settle(*runner_);
  EXPECT_EQ(view(b.id).status, SagaStatus::COMPLETED) << "the signal was kept";
  EXPECT_EQ(rows_in("skald_lock"), 0);
}

TEST_P(SemanticLocksTest, ASharedLockBecomesExclusiveWhereNobodyElseHasIt) {
  const auto sharing = holder(shared, wait_up_to(1h), "sharing");
  const auto growing = [](std::string type, bool at_once) {
    Saga<Trip> saga(std::move(type));
    saga.local("look", [](Local&, Trip& t) { t.legs = {t.name}; })
        .nothing_to_undo()
        .holds("product", &Trip::name, shared, wait_up_to(1h));
    if (!at_once) saga.commit();
    return saga.local("change", adds("change"))
        .undo(removes("change"))
        .holds("product", &Trip::legs, exclusive, wait_up_to(1h))
        .await("end", "end", [](Local&, Trip&, const RawJson&) {})
        .timeout(1h);
  };
  const auto at_once = growing("at once", true), slowly = growing("slowly", false);
  know(sharing);
  know(at_once);
  know(slowly);
  end(run(at_once, {.name = "A"}).id);
  EXPECT_EQ(rows_in("skald_lock"), 0);
  const Started alone = run(slowly, {.name = "A"});
  EXPECT_EQ(view(alone.id).step, "end");
  const Started late = start(sharing, {.name = "A"});
  EXPECT_EQ(view(late.id).status, SagaStatus::WAITING);
  end(alone.id);
  EXPECT_EQ(view(late.id).step, "end");
  const Started second = run(slowly, {.name = "A"});
  EXPECT_EQ(view(second.id).status, SagaStatus::WAITING) << "has given its share back: it waits for the whole";
  EXPECT_EQ(rows_in("skald_lock"), 2);
  end(late.id);
  EXPECT_EQ(view(second.id).step, "end");
  end(second.id);
  EXPECT_EQ(rows_in("skald_lock"), 0);
}

}  // namespace
}  // namespace skald::saga
