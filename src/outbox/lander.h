// Takes in the events that other services have sent, under their own ids, by which a second
// arrival is known. Where nothing stands in front of them they are handled in the very
// transaction that lands them; else they wait in the table for the relay.
//
// | failure                          | what happens                                    |
// | an event is known already        | nothing, once the others of its batch are landed |
// | an earlier one of its key waits  | it is landed, behind that one                   |
// | its partition is another's       | it is landed, for that one: the fence is checked and locked before any handler runs |
// | a handler throws                 | the batch is landed only: the relay finds out which it was, retries it, buries it |
// | a process dies in a handler      | nothing is landed; the events come again with `attempt` above 1, are landed, and the |
// |                                  | relay runs them one by one, as it does what a dead owner had in hand |
// | database unreachable             | land() throws, and the events are to come again |
//
// Letters (skald/post.h) land in the same way, and each in the one transaction that stores its number: it is known
// again by that, not by the ids of its events.
// | it is not the letter's turn      | nothing is landed; the receipt says what the lane has |
// | an event cannot be read          | it is set aside for a person, and counts as landed |
// | database unreachable             | the receipt says busy                           |
//
// Thread safe. Handlers are called by the thread of land(), beside those of the relay, but
// never for two events of a key at once.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "dead_letter/undertaker.h"
#include "outbox/handling.h"
#include "outbox/membership.h"
#include "skald/post.h"
#include "store/tables/outbox.h"

namespace skald::outbox {

class Relay;

class Lander {
 public:
  // Everything outlives it. `wake` is called with the partitions (a bit each) of what waits.
  Lander(Env env, Database& db, const Membership& membership, const Routing& routing, Relay& relay,
         dead_letter::Undertaker& undertaker, const OutboxOptions& options, std::function<void(std::uint64_t)> wake,
         const CrashNotes* notes = nullptr);

  // Returns when all of it is committed.
  void land(std::span<const Message> messages);
  // A receipt for each, once what it says is committed.
  std::vector<Receipt> accept(std::span<const Letter> letters);
  Knowledge answer(const Inquiry& inquiry);

  // How long the call that has been going on longest has.
  Duration busy_for() const;

 private:
  class Call;
  using Landing = tables::outbox::Landing;
  using Landings = std::vector<Landing>;

  Landings read(std::span<const Message> messages) const;
  void handle_what_is_free(Landings& landings);
  void land_for_relay(const Landings& landings);
  using Arrived = tables::outbox::ArrivedLetter;
  std::vector<Receipt> accept_of_different_lanes(std::span<const Letter* const> letters);
  bool take_and_handle(std::span<const Arrived> letters, std::vector<Receipt>& receipts);
  void take_for_relay(std::span<const Arrived> letters, std::vector<Receipt>& receipts);
  void count(std::span<const Arrived> letters, const tables::outbox::TakenLetters& taken,
             std::span<const Receipt> receipts);
  Landing landing_of(const Message& message) const;
  std::vector<tables::partition::Ownership> owned_of(std::uint64_t wanted, const Membership::View& view) const;

  Env env_;
  Database& db_;
  const Membership& membership_;
  Relay& relay_;
  dead_letter::Undertaker& undertaker_;
  const OutboxOptions& options_;
  const Handling handling_;
  const std::function<void(std::uint64_t)> wake_;
  mutable std::mutex mutex_;  // guards begun_
  std::multiset<Instant> begun_;
};

}  // namespace skald::outbox
