// Histories for tests: a tiny database that counts versions, and sagas that run on it
// step by step, one after the other or side by side. One seed decides all of it.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "skald/checker.h"

namespace skald::checker {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {}
  // In [0, limit).
  std::size_t below(std::size_t limit) {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return (x ^ (x >> 31)) % limit;
  }
  bool chance(std::size_t percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

// Every call is a commit of its own.
class Tape {
 public:
  std::vector<Operation> history;

  Operation& note(Kind kind, const std::string& saga, const std::string& step = "", const std::string& key = "") {
    Operation& one = history.emplace_back();
    one.at = static_cast<std::int64_t>(history.size());
    one.kind = kind;
    one.saga_id = saga;
    one.saga_type = "test.saga";
    one.step = step;
    if (!key.empty()) one.resource = "product", one.key = key;
    return one;
  }
  void begin(const std::string& saga) { note(Kind::begin, saga); }
  Operation& finish(const std::string& saga, Outcome outcome) {
    Operation& end = note(Kind::finish, saga);
    end.outcome = outcome;
    return end;
  }
  void complete(const std::string& saga) { finish(saga, Outcome::completed); }
  void compensated(const std::string& saga) { finish(saga, Outcome::compensated); }
  Operation& read(const std::string& saga, const std::string& step, const std::string& key) {
    Operation& one = note(Kind::read, saga, step, key);
    one.version_read = versions_[key];
    return one;
  }
  Operation& change(Kind kind, const std::string& saga, const std::string& step, const std::string& key) {
    Operation& one = note(kind, saga, step, key);
    one.version_written = ++versions_[key];
    return one;
  }
  Operation& write(const std::string& saga, const std::string& step, const std::string& key) {
    return change(Kind::write, saga, step, key);
  }
  void lock(const std::string& saga, const std::string& key, LockMode mode) {
    note(Kind::lock, saga, "lock", key).mode = mode;
  }
  std::int64_t version(const std::string& key) { return versions_[key]; }

 private:
  std::map<std::string, std::int64_t> versions_;
};

// A saga of random steps that touches its keys in their order and may fail and undo.
class Traveller {
 public:
  struct Step {
    std::string key;
    Kind kind;                  // read, write, add or action
    bool reads_first = false;
  };

  Traveller(std::string id, std::vector<std::string> keys, Dice& dice) : id_(std::move(id)) {
    std::sort(keys.begin(), keys.end());
    for (const std::string& key : keys) {
      const bool commutes = dice.chance(30);
      for (std::size_t left = 1 + dice.below(3); left > 0; --left) {
        static constexpr Kind kinds[] = {Kind::read, Kind::write, Kind::add, Kind::action};
        steps_.push_back({key, commutes ? Kind::add : kinds[dice.below(4)], !commutes && dice.chance(40)});
      }
      modes_[key] = commutes ? LockMode::shared : LockMode::exclusive;
    }
    fails_ = dice.chance(30);
    fails_at_ = dice.below(steps_.size() + 1);
  }

  bool done() const { return done_; }

  // The next commit, or nothing where `locks` (by key: its holders) does not let it.
  bool move(Tape& tape, std::map<std::string, std::map<std::string, LockMode>>* locks) {
    if (!begun_) return tape.begin(id_), begun_ = true;
    if (fails_ && next_ >= fails_at_) return undo(tape, locks), true;
    if (next_ == steps_.size()) return end(tape, Outcome::completed, locks), true;
    const Step& step = steps_[next_];
    if (locks != nullptr && !(*locks)[step.key].contains(id_)) return take(tape, (*locks)[step.key], step.key);
    const std::string name = "step " + std::to_string(next_++);
    if (step.reads_first || step.kind == Kind::read) tape.read(id_, name, step.key);
    if (is_writing(step.kind)) tape.change(step.kind, id_, name, step.key);
    if (step.kind == Kind::action) tape.note(Kind::action, id_, name, step.key);
    return true;
  }

 private:
  static bool is_writing(Kind kind) { return kind == Kind::write || kind == Kind::add; }

  bool take(Tape& tape, std::map<std::string, LockMode>& holders, const std::string& key) {
    const LockMode mode = modes_[key];
    for (const auto& [saga, held] : holders)
      if (mode == LockMode::exclusive || held == LockMode::exclusive) return false;
    holders[id_] = mode;
    tape.lock(id_, key, mode);
    return true;
  }

  void undo(Tape& tape, std::map<std::string, std::map<std::string, LockMode>>* locks) {
    fails_at_ = 0;
    if (next_ == 0) return end(tape, Outcome::compensated, locks);
    const Step& step = steps_[--next_];
    const std::string name = "step " + std::to_string(next_);
    if (is_writing(step.kind))
      tape.change(step.kind == Kind::write ? Kind::undo_write : Kind::undo_add, id_, name, step.key);
    if (step.kind == Kind::action) tape.note(Kind::compensation, id_, name, step.key);
  }

  void end(Tape& tape, Outcome outcome, std::map<std::string, std::map<std::string, LockMode>>* locks) {
    tape.finish(id_, outcome);
    done_ = true;
    if (locks != nullptr)
      for (auto& [key, holders] : *locks) holders.erase(id_);
  }

  std::string id_;
  std::vector<Step> steps_;
  std::map<std::string, LockMode> modes_;
  bool fails_ = false, begun_ = false, done_ = false;
  std::size_t fails_at_ = 0, next_ = 0;
};

// Sagas side by side that keep to their locks; with `locks` off they need keys of their own.
class Crowd {
 public:
  Crowd(Dice& dice, std::size_t sagas, std::size_t keys) : dice_(dice) {
    for (std::size_t i = 0; i < sagas; ++i) {
      std::set<std::string> wanted;
      for (std::size_t left = 1 + dice.below(3); left > 0; --left)
        wanted.insert("k" + std::to_string(dice.below(keys)));
      travellers_.emplace_back("innocent-" + std::to_string(i), std::vector(wanted.begin(), wanted.end()), dice);
    }
  }
  void move_some(Tape& tape, std::size_t moves_max) {
    for (std::size_t left = dice_.below(moves_max + 1); left > 0 && !travellers_.empty(); --left) move_one(tape);
  }
  void run(Tape& tape) {
    while (!travellers_.empty()) move_one(tape);
  }
  void run_serially(Tape& tape) {
    for (Traveller& one : travellers_)
      while (!one.done()) one.move(tape, nullptr);
    travellers_.clear();
  }

 private:
  void move_one(Tape& tape) {
    const std::size_t who = dice_.below(travellers_.size());
    travellers_[who].move(tape, &locks_);
    if (travellers_[who].done()) travellers_.erase(travellers_.begin() + static_cast<std::ptrdiff_t>(who));
  }

  Dice& dice_;
  std::vector<Traveller> travellers_;
  std::map<std::string, std::map<std::string, LockMode>> locks_;
};

}  // namespace skald::checker
