// A lane whose receiver has another number than its sender: one of them was restored from a backup, or failed over to
// a standby that was behind. Nobody guesses: the sender asks which of the events that it still keeps the receiver
// has, page by page, settles those, owes the rest, and goes on from the receiver's number.
//
// | an event is kept here and known there   | it is settled                                      |
// | kept here, owed, and not known there    | it stays owed                                      |
// | kept here, confirmed, and not known     | it is owed again                                   |
// | so old that the receiver may forget it  | it stays as it is, and is counted for a person     |
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skald/post.h"
#include "store/tables/subscriber.h"

namespace skald::post {

class Reconciliation {
 public:
  struct Counts {
    std::int64_t owed_again = 0, found = 0, unknowable = 0;
  };

  // `place` is the lane's, as it is stored.
  Reconciliation(tables::subscriber::Row row, int partition, LanePlace place)
      : row_(std::move(row)), partition_(partition), place_(std::move(place)) {}

  // Those to ask for next; none: all are through, and only the receiver's numbers are wanted.
  std::vector<std::string> next_page(Transaction& tx);
  bool has_page() const { return !page_.empty(); }
  // What the receiver knows of that page; in the caller's transaction, which may run several times.
  void apply(Transaction& tx, const Knowledge& knowledge);
  // That transaction is committed.
  void turn_page();
  // The last step, and its row in the audit. Nothing happens where another worker has done it.
  void finish(Transaction& tx, Random& random) const;
  // What was found, for a person.
  std::string told() const;

  const Counts& counts() const { return counts_; }
  const LanePlace& place() const { return place_; }
  // The receiver's, by its answers. Pages are worth something only together: where it moves in between, all begins anew.
  const LanePlace& receivers_place() const { return *receivers_place_; }
  // Takes the answer to a page; nothing: there was none.
  void hear(std::optional<Knowledge> knowledge);

  // Of the question about the page.
  bool is_asked = false;
  Instant not_before{};
  std::optional<Knowledge> answer = {};

 private:
  tables::subscriber::Row row_;
  int partition_;
  LanePlace place_;
  std::optional<LanePlace> receivers_place_;
  std::string after_;
  std::vector<tables::subscriber::Kept> page_;
  Counts counts_, of_page_;
};

}  // namespace skald::post
