#include <atomic>

#include "isolation/isolation_fixture.h"
#include "skald/distributed_lock.h"

namespace skald::test {
namespace {

class Permits : public IsolationTest {
 protected:
  // Leases are counted in database time, which no test can move: all that is stored of
  // it moves back instead.
  void pass_time(Duration by) {
    db().write("pass time", [&](Transaction& tx) {
      tx.execute("UPDATE skald_permit SET expires_at = expires_at - $1", by.count());
      tx.execute("UPDATE skald_permit_waiter SET gone_at = gone_at - $1", by.count());
    });
  }
  void check(const Semaphore& semaphore, const Permit& permit) {
    db().write("effect", [&](Transaction& tx) { semaphore.check(tx, permit); });
  }
  bool waits(Semaphore& semaphore, const std::string& holder) {
    const auto waiting = semaphore.wait_until(holder, kNever);
    return !waiting.permit.has_value();
  }

  static constexpr Time kNever = from_micros(4'000'000'000'000'000);
};
SKALD_ON_EVERY_STORE(Permits);

TEST_P(Permits, LendsNAndNotOneMore) {
  Semaphore semaphore(db(), "provider", 2, 10s);
  const auto one = semaphore.try_acquire("a"), two = semaphore.try_acquire("b");
  ASSERT_TRUE(one && two);
  EXPECT_FALSE(semaphore.try_acquire("c"));
  semaphore.release(*one);
  EXPECT_TRUE(semaphore.try_acquire("c"));
  EXPECT_FALSE(semaphore.try_acquire("d"));
}

TEST_P(Permits, SemaphoresOfOtherNamesAreOthers) {
  Semaphore one(db(), "one", 1, 10s), two(db(), "two", 1, 10s);
  EXPECT_TRUE(one.try_acquire("a"));
  EXPECT_TRUE(two.try_acquire("a"));
}

TEST_P(Permits, ADeadHoldersPermitReturnsWithItsLeaseUnderAHigherFence) {
  DistributedLock lock(db(), "lamp", 10s);
  const auto dead = lock.try_acquire("a");
  pass_time(9s);
  EXPECT_FALSE(lock.try_acquire("b")) << "the lease still runs";
  pass_time(2s);
  const auto taken = lock.try_acquire("b");
  ASSERT_TRUE(taken);
  EXPECT_GT(taken->fence, dead->fence);
}

TEST_P(Permits, AHolderThatComesBackLateIsRefused) {
  DistributedLock lock(db(), "lamp", 10s);
  auto late = lock.try_acquire("a").value();
  check(lock, late);
  pass_time(11s);
  expect_error<Stale>("LEASE_LOST", [&] { check(lock, late); });
  EXPECT_FALSE(lock.renew(late));
  auto taken = lock.try_acquire("b").value();
  expect_error<Stale>("LEASE_LOST", [&] { check(lock, late); });
  EXPECT_FALSE(lock.renew(late));
  lock.release(late);
  check(lock, taken);
  EXPECT_FALSE(lock.try_acquire("c")) << "a late release must not free another's permit";
}

TEST_P(Permits, WhatWasGivenBackCannotBeUsed) {
  DistributedLock lock(db(), "lamp", 10s);
  auto permit = lock.try_acquire("a").value();
  lock.release(permit);
  expect_error<Stale>("LEASE_LOST", [&] { check(lock, permit); });
  EXPECT_FALSE(lock.renew(permit));
}

TEST_P(Permits, ARenewedLeaseRunsFromItsRenewal) {
  DistributedLock lock(db(), "lamp", 10s);
  auto permit = lock.try_acquire("a").value();
  const Time before = permit.expires_at;
  pass_time(8s);
  EXPECT_TRUE(lock.renew(permit));
  EXPECT_GT(permit.expires_at, before - 8s);
  pass_time(8s);
  check(lock, permit);
  EXPECT_FALSE(lock.try_acquire("b"));
}

TEST_P(Permits, WaitersAreServedInOrderAndNobodyGoesPast) {
  Semaphore semaphore(db(), "provider", 1, 10s);
  const auto held = semaphore.try_acquire("a").value();
  EXPECT_TRUE(waits(semaphore, "first"));
  EXPECT_TRUE(waits(semaphore, "second"));
  EXPECT_TRUE(waits(semaphore, "first")) << "and keeps its place by asking again";
  semaphore.release(held);
  EXPECT_FALSE(semaphore.try_acquire("barger"));
  EXPECT_TRUE(waits(semaphore, "second"));
  EXPECT_FALSE(waits(semaphore, "first")) << "it is the first one's turn";
  EXPECT_TRUE(waits(semaphore, "second"));
}

TEST_P(Permits, EachOfSeveralFreePermitsGoesToOneWaiter) {
  Semaphore semaphore(db(), "provider", 2, 10s);
  const auto one = semaphore.try_acquire("a").value(), two = semaphore.try_acquire("b").value();
  EXPECT_TRUE(waits(semaphore, "first"));
  semaphore.release(one);
  semaphore.release(two);
  EXPECT_TRUE(semaphore.try_acquire("other")) << "one is left over by the one who waits";
  EXPECT_FALSE(semaphore.try_acquire("another"));
  EXPECT_FALSE(waits(semaphore, "first"));
}

TEST_P(Permits, AWaiterThatStopsAskingIsForgotten) {
  Semaphore semaphore(db(), "provider", 1, 10s);
  const auto held = semaphore.try_acquire("a").value();
  EXPECT_TRUE(waits(semaphore, "dead"));
  pass_time(6s);
  EXPECT_TRUE(waits(semaphore, "alive"));
  semaphore.release(held);
  EXPECT_FALSE(semaphore.try_acquire("b"));
  pass_time(5s);
  EXPECT_FALSE(waits(semaphore, "alive"));
}

TEST_P(Permits, AWaiterThatLeavesIsPassed) {
  Semaphore semaphore(db(), "provider", 1, 10s);
  const auto held = semaphore.try_acquire("a").value();
  EXPECT_TRUE(waits(semaphore, "first"));
  semaphore.leave("first");
  semaphore.release(held);
  EXPECT_TRUE(semaphore.try_acquire("b"));
}

TEST_P(Permits, WaitingEndsAtTheDeadlineAndGivesThePlaceUp) {
  Semaphore semaphore(db(), "provider", 1, 10s);
  const auto held = semaphore.try_acquire("a").value();
  const auto waiting = semaphore.wait_until("late", kNever);
  EXPECT_GT(waiting.again, 0ms);
  EXPECT_LE(waiting.again, 100ms);
  expect_error<LockTimeout>("NO_PERMIT", [&] { semaphore.wait_until("late", from_micros(1)); });
  semaphore.release(held);
  EXPECT_TRUE(semaphore.wait_until("other", from_micros(1)).permit) << "what is free is lent whatever the time";
}

// A process whose clock is wrong by weeks waits as long as it says.
TEST_P(Permits, WaitingIsCountedByTheDatabase) {
  Semaphore semaphore(db(), "provider", 1, 10s);
  const auto held = semaphore.try_acquire("a").value();
  const auto now = [&] { return db().read_result([](Transaction& tx) { return tx.now(); }); };
  const Time before = now();
  const auto waiting = semaphore.wait_for("late", 1h);
  EXPECT_FALSE(waiting.permit);
  EXPECT_GE(waiting.deadline, before + 1h);
  EXPECT_LE(waiting.deadline, now() + 1h);
  expect_error<LockTimeout>("NO_PERMIT", [&] { semaphore.wait_for("later", 0ms); });
  expect_error<LockTimeout>("NO_PERMIT", [&] { semaphore.wait_until("late", before); });
  semaphore.release(held);
  EXPECT_TRUE(semaphore.wait_for("other", 0ms).permit) << "what is free is lent whatever the time";
}

TEST_P(Permits, MorePermitsCanBeDeclaredLater) {
  Semaphore few(db(), "provider", 1, 10s), more(db(), "provider", 3, 10s);
  EXPECT_TRUE(few.try_acquire("a"));
  EXPECT_TRUE(more.try_acquire("b"));
  const auto last = more.try_acquire("c").value();
  EXPECT_FALSE(more.try_acquire("d"));
  more.release(last);
  EXPECT_FALSE(few.try_acquire("e")) << "a program that knows of one permit does not lend the third";
}

TEST_P(Permits, RefusesWhatMakesNoSense) {
  expect_error<Invalid>("BAD_SEMAPHORE", [&] { Semaphore(db(), "", 1, 10s); });
  expect_error<Invalid>("BAD_SEMAPHORE", [&] { Semaphore(db(), "x", 0, 10s); });
  expect_error<Invalid>("BAD_SEMAPHORE", [&] { Semaphore(db(), "x", 1, 1ms); });
}

TEST_P(Permits, ManyAtOnceNeverHoldMoreThanN) {
  Semaphore semaphore(db(), "provider", 3, 60s);
  std::atomic<int> holders = 0, highest = 0, lent = 0;
  run_threads(8, [&](int thread) {
    for (int done = 0; done < 5;) {
      const auto waiting = semaphore.wait_until("t" + std::to_string(thread), kNever);
      if (!waiting.permit) continue;
      const int now = ++holders;
      for (int seen = highest; now > seen && !highest.compare_exchange_weak(seen, now);) {}
      check(semaphore, *waiting.permit);
      ++lent, ++done;
      --holders;
      semaphore.release(*waiting.permit);
    }
  });
  EXPECT_EQ(lent, 40);
  EXPECT_LE(highest, 3);
  EXPECT_EQ(count("SELECT count(*) FROM skald_permit"), 3);
  EXPECT_EQ(count("SELECT count(*) FROM skald_permit_waiter"), 0);
}

class PermitRace : public Permits {};
SKALD_ON_POSTGRES(PermitRace);

TEST_P(PermitRace, APermitIsNotLentAgainWhileALateEffectIsOpen) {
  DistributedLock lock(db(), "lamp", 10s);
  const auto other = other_program(50ms);
  DistributedLock theirs(*other, "lamp", 10s);
  auto permit = lock.try_acquire("a").value();
  db().write("effect", [&](Transaction& tx) {
    lock.check(tx, permit);
    other->write("pass time",
                 [](Transaction& time) { time.execute("UPDATE skald_permit SET expires_at = expires_at - 11000000"); });
    EXPECT_FALSE(theirs.try_acquire("b")) << "told at once, without waiting";
  });
  EXPECT_TRUE(theirs.try_acquire("b"));
}

TEST_P(PermitRace, AHeartbeatDoesNotWaitForTheEffect) {
  DistributedLock lock(db(), "lamp", 10s);
  const auto other = other_program(50ms);
  DistributedLock beat(*other, "lamp", 10s);
  auto permit = lock.try_acquire("a").value();
  db().write("effect", [&](Transaction& tx) {
    lock.check(tx, permit);
    auto same = permit;
    EXPECT_TRUE(beat.renew(same));
    beat.release(same);
    EXPECT_FALSE(beat.try_acquire("b")) << "given back, but its effect is still open";
  });
  EXPECT_TRUE(beat.try_acquire("b"));
}

TEST_P(PermitRace, OfManyWhoFindAnExpiredLockOneGetsIt) {
  DistributedLock lock(db(), "lamp", 10s);
  std::int64_t fence = lock.try_acquire("a")->fence;
  for (int round = 0; round < 20; ++round) {
    pass_time(11s);
    std::atomic<int> got = 0;
    run_threads(4, [&](int thread) {
      if (const auto permit = lock.try_acquire(std::to_string(thread))) {
        ++got;
        EXPECT_EQ(permit->fence, fence + 1);
      }
    });
    ASSERT_EQ(got, 1);
    ++fence;
  }
}

}  // namespace
}  // namespace skald::test
