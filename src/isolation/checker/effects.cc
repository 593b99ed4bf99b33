#include <fmt/format.h>

#include <algorithm>

#include "isolation/checker/analyses.h"

namespace skald::checker {
namespace {

// When a step, or a step's row, last took effect and was last undone: entry + 1, 0 for never.
struct Tally {
  Index effect = 0;
  Index undone = 0;
};

class EffectCheck {
 public:
  EffectCheck(const History& history, const Scope& scope, Findings& findings)
      : history_(history),
        scope_(scope),
        findings_(findings),
        steps_(history.runs),
        rowless_(history.runs),
        undone_rows_(history.places),
        places_(history.places),
        row_undone_(history.runs),
        empty_(history.runs, kNone),
        reported_(history.sagas.size()) {}

  void run() {
    for (Index at = 0; at < history_.entries.size(); ++at) {
      const Kind kind = history_.operation(at).kind;
      if (is_effect(kind)) effect(at);
      else if (is_undo(kind) || kind == Kind::compensation) undo(at);
    }
    for (const Index at : empty_)
      if (at != kNone)
        findings_.add(
            Anomaly::empty_compensation, {at}, {},
            fmt::format("{} undid {}, though the step never took effect", findings_.who(at), findings_.row(at)));
    for (Index at = 0; at < history_.entries.size(); ++at)
      if (is_effect(history_.operation(at).kind) && left_behind(at)) orphan(at, "ended compensated and left behind");
  }

 private:
  // A saga whose beginning is not in the window may have done anything before it.
  bool unseen(const Entry& entry) const {
    return !scope_.from_the_beginning && history_.sagas[entry.saga].begin == kNone;
  }

  void orphan(Index at, std::string_view how) {
    findings_.add(Anomaly::orphan_effect, {at}, {},
                  fmt::format("{} {} its {} of {}", findings_.who(at), how, enum_name(history_.operation(at).kind),
                              findings_.row(at)));
  }

  void effect(Index at) {
    const Entry& entry = history_.entries[at];
    steps_[entry.run].effect = at + 1;
    if (entry.place == kNone) rowless_[entry.run].effect = at + 1;
    else places_[entry.place].effect = at + 1;
    if (entry.write != kNone) undone_rows_[entry.place].effect = at + 1;
    if (Index& undone = empty_[entry.run]; undone != kNone) {
      findings_.add(Anomaly::order_inversion, {at, undone}, {},
                    fmt::format("{} took effect on {} after it had been undone: the undo overtook the action",
                                findings_.who(at), findings_.row(at)));
      undone = kNone;
      reported_[entry.saga] = true;  // that its effect stays is the same matter
    }
    if (!reported_[entry.saga]) reported_[entry.saga] = outside_of_life(at, history_.sagas[entry.saga]);
  }

  bool outside_of_life(Index at, const SagaLife& life) {
    if (scope_.from_the_beginning && (life.begin == kNone || life.begin > at)) {
      orphan(at, "had not begun at the time of");
    } else if (life.finish != kNone && life.finish < at) {
      orphan(at, "had ended before");
    } else if (scope_.to_the_end && life.finish == kNone && !life.parked) {
      orphan(at, "never ended after");
    } else {
      return false;
    }
    return true;
  }

  void undo(Index at) {
    const Entry& entry = history_.entries[at];
    const bool of_row = is_undo(entry.operation->kind);
    Tally& tally = of_row ? undone_rows_[entry.place] : entry.place == kNone ? steps_[entry.run] : places_[entry.place];
    const bool ever = steps_[entry.run].effect != 0;
    const Index effect = of_row ? tally.effect : std::max(tally.effect, rowless_[entry.run].effect);
    const bool again = tally.undone != 0 && history_.operation(tally.undone - 1).at != entry.operation->at;
    if (!ever && !unseen(entry)) {
      if (empty_[entry.run] == kNone || history_.entries[empty_[entry.run]].row == kNone) empty_[entry.run] = at;
    } else if (again && effect < tally.undone) {
      findings_.add(Anomaly::double_compensation, {at, tally.undone - 1}, {},
                    fmt::format("{} undid {} a second time", findings_.who(at), findings_.row(at)));
    }
    tally.undone = at + 1;
    rowless_[entry.run].undone = at + 1;
    if (of_row) row_undone_[entry.run] = at + 1;
  }

  // A write is judged by its row and its step's compensation, an action by whatever undoes
  // its step without naming another row.
  bool left_behind(Index at) const {
    const Entry& entry = history_.entries[at];
    if (!history_.sagas[entry.saga].compensated || reported_[entry.saga]) return false;
    if (entry.operation->lasting.value_or(false) || history_.of_completed_part(entry)) return false;
    if (entry.write != kNone) return history_.effective(entry.write);
    if (entry.place == kNone) return rowless_[entry.run].undone < at + 1;
    return std::max({places_[entry.place].undone, steps_[entry.run].undone, row_undone_[entry.run]}) < at + 1;
  }

  const History& history_;
  const Scope& scope_;
  Findings& findings_;
  std::vector<Tally> steps_;        // by run: effects of any kind; compensations that name no row
  std::vector<Tally> rowless_;      // by run: effects that name no row; undos of any kind
  std::vector<Tally> undone_rows_;  // by place: writes; undo_write and undo_add
  std::vector<Tally> places_;       // by place: effects; compensations that name the row
  std::vector<Index> row_undone_;   // by run: the last undo_write or undo_add, as in Tally
  std::vector<Index> empty_;        // by run: an undo without an effect so far
  std::vector<bool> reported_;      // by saga: its effects are all wrong, which is said once
};

}  // namespace

void check_effects(const History& history, const Scope& scope, Findings& findings) {
  EffectCheck(history, scope, findings).run();
}

}  // namespace skald::checker
