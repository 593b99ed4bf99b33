#include "isolation/checker/history.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <utility>

namespace skald::checker {
namespace {

std::uint64_t pair_of(Index high, Index low) { return std::uint64_t{high} << 32 | low; }

// std::hash leaves integers as they are, which puts pairs of small numbers into few buckets.
struct Mixed {
  std::size_t operator()(std::uint64_t x) const {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
  std::size_t operator()(const std::pair<Index, std::int64_t>& of) const {
    return (*this)((*this)(static_cast<std::uint64_t>(of.second)) + of.first);
  }
};

template <class Key, class Hash>
class Numbers {
 public:
  Index operator()(const Key& key) { return known_.try_emplace(key, static_cast<Index>(known_.size())).first->second; }
  std::size_t size() const { return known_.size(); }

 private:
  boost::unordered_flat_map<Key, Index, Hash> known_;
};
using Names = Numbers<std::string_view, std::hash<std::string_view>>;
using Pairs = Numbers<std::uint64_t, Mixed>;

template <class T>
T& grown(std::vector<T>& all, Index index) {
  if (all.size() <= index) all.resize(index + 1);
  return all[index];
}

// The first element behind `entry` in an ascending list.
Index first_after(const boost::unordered_flat_map<Index, std::vector<Index>, Mixed>& lists, Index list, Index entry) {
  const auto found = lists.find(list);
  if (found == lists.end()) return kNone;
  const auto at = std::upper_bound(found->second.begin(), found->second.end(), entry);
  return at == found->second.end() ? kNone : *at;
}

class Indexing {
 public:
  explicit Indexing(std::span<const Operation> operations) {
    std::vector<const Operation*> order(operations.size());
    std::transform(operations.begin(), operations.end(), order.begin(), [](const Operation& one) { return &one; });
    // Within one commit by address, which is the order in which they were given.
    std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return std::pair(a->at, a) < std::pair(b->at, b); });
    out_.entries.reserve(order.size());
    for (const Operation* operation : order) add(*operation);
  }

  History finish() {
    settle_undone();
    for (Entry& entry : out_.entries) {
      const Kind kind = entry.operation->kind;
      if ((kind == Kind::read || is_write(kind)) && entry.operation->version_read) entry.seen = resolve(entry);
    }
    out_.rows = rows_.size();
    out_.runs = runs_.size();
    out_.places = places_.size();
    out_.locked.resize(accesses_.size());
    return std::move(out_);
  }

 private:
  struct RowChain {
    Index last = kNone;
    Index count = 0;
    std::optional<std::int64_t> first_version;
  };
  struct PlaceState {
    Index pending = kNone;      // the latest write not undone
    Index last_read = kNone;
  };

  Index place_in_order() const { return static_cast<Index>(out_.entries.size() - 1); }

  void add(const Operation& operation) {
    Entry& entry = out_.entries.emplace_back();
    entry.operation = &operation;
    entry.saga = sagas_(operation.saga_id);
    const Index step = names_(operation.step);
    entry.run = runs_(pair_of(entry.saga, step));
    SagaLife& life = grown(out_.sagas, entry.saga);
    if (operation.kind == Kind::begin && life.begin == kNone) life.begin = place_in_order();
    if (operation.kind == Kind::finish && !ends_part(operation)) end(life, operation);
    entry.part = part_of(entry, operation);
    if (!operation.resource.empty() || !operation.key.empty()) {
      entry.row = rows_(pair_of(names_(operation.resource), names_(operation.key)));
      entry.access = accesses_(pair_of(entry.saga, entry.row));
      entry.place = places_(pair_of(entry.access, step));
      grown(chains_, entry.row);
      grown(states_, entry.place);
      if (operation.kind == Kind::lock) {
        if (out_.locked.size() <= entry.access) out_.locked.resize(entry.access + 1);
        out_.locked[entry.access] = true;
      }
      if (operation.kind == Kind::read) read(entry);
      if (is_write(operation.kind) || is_undo(operation.kind)) write(entry);
    }
    if (operation.kind == Kind::compensation)
      (entry.place == kNone ? of_run_[entry.run] : of_place_[entry.place]).push_back(place_in_order());
  }

  // "PART STEP", or the finish of PART.
  Index part_of(const Entry& entry, const Operation& operation) {
    if (!operation.step.starts_with('.')) return kNone;
    if (ends_part(operation)) {
      const Index part = parts_(pair_of(entry.saga, names_(operation.step)));
      if (operation.outcome == Outcome::completed) {
        if (out_.completed_parts.size() <= part) out_.completed_parts.resize(part + 1);
        out_.completed_parts[part] = true;
      }
      return part;
    }
    const auto end = std::string_view(operation.step).find(' ');
    if (end == std::string_view::npos) return kNone;
    return parts_(pair_of(entry.saga, names_(std::string_view(operation.step).substr(0, end))));
  }

  void end(SagaLife& life, const Operation& operation) const {
    life.parked = operation.outcome == Outcome::parked;
    life.compensated = operation.outcome == Outcome::compensated;
    life.finish = life.parked ? kNone : place_in_order();
  }

  void read(Entry& entry) {
    entry.seen = chains_[entry.row].last;
    Index& last = states_[entry.place].last_read;
    for (Index old = last; old != kNone && !out_.entries[old].superseded; old = read_before_[old]) {
      if (out_.entries[old].operation->at == entry.operation->at) break;
      out_.entries[old].superseded = true;
    }
    read_before_.resize(out_.entries.size(), kNone);
    read_before_[place_in_order()] = last;
    last = place_in_order();
  }

  void write(Entry& entry) {
    RowChain& chain = chains_[entry.row];
    Index& pending = states_[entry.place].pending;
    entry.write = static_cast<Index>(out_.writes.size());
    Write& write = out_.writes.emplace_back();
    write.entry = place_in_order();
    write.before = chain.last;
    write.number = ++chain.count;
    chain.last = entry.write;
    if (is_write(entry.operation->kind)) {
      write.pending_before = pending;
      pending = entry.write;
    } else {
      for (Index old = pending; old != kNone; old = out_.writes[old].pending_before) {
        out_.writes[old].undone_at = write.entry;
        out_.writes[old].undone_on_row = true;
        write.first_undone = old;
      }
      pending = kNone;
    }
    if (const auto version = entry.operation->version_written) {
      if (!chain.first_version) chain.first_version = version;
      const auto [known, fresh] = versions_.try_emplace({entry.row, *version}, entry.write);
      if (!fresh) write.same_version_before = std::exchange(known->second, entry.write);
    }
  }

  void settle_undone() {
    std::vector<Index> effective(chains_.size());
    for (Index index = 0; index < out_.writes.size(); ++index) {
      Write& write = out_.writes[index];
      const Entry& entry = out_.entries[write.entry];
      if (is_write(entry.operation->kind) && write.undone_at == kNone)
        write.undone_at =
            std::min(first_after(of_place_, entry.place, write.entry), first_after(of_run_, entry.run, write.entry));
      write.effective_count = effective[entry.row] += out_.effective(index) ? 1 : 0;
    }
  }

  // The write that made the version that `entry` read.
  Index resolve(const Entry& entry) const {
    const RowChain& chain = chains_[entry.row];
    const std::int64_t version = *entry.operation->version_read;
    if (const auto known = versions_.find({entry.row, version}); known != versions_.end()) {
      // Two writers of one version: the later one is seen only by who came after it.
      const auto here = static_cast<Index>(&entry - out_.entries.data());
      Index write = known->second;
      while (out_.writes[write].entry > here && out_.writes[write].same_version_before != kNone)
        write = out_.writes[write].same_version_before;
      return write;
    }
    if (!chain.first_version) return entry.seen;
    return version < *chain.first_version ? kNone : kUnknown;
  }

  History out_;
  Names sagas_, names_;
  Pairs rows_, accesses_, runs_, places_, parts_;
  std::vector<RowChain> chains_;
  std::vector<PlaceState> states_;
  std::vector<Index> read_before_;      // by entry: the read of the same place before it
  boost::unordered_flat_map<std::pair<Index, std::int64_t>, Index, Mixed> versions_;
  boost::unordered_flat_map<Index, std::vector<Index>, Mixed> of_run_, of_place_;  // compensations
};

}  // namespace

History index_history(std::span<const Operation> operations) { return Indexing(operations).finish(); }

}  // namespace skald::checker
