// Circles of sagas. Each saga is a node of a graph; the conflicts of a row's chain of
// effective writes are its edges. Adds between two absolute writes do not conflict with
// each other, only with who reads among them: to keep the edges linear, each add has
// two nodes of its own, `upto` (reached from it and all adds of the group before) and
// `from` (reaches it and all behind). A path between two sagas through such nodes is
// a conflict of exactly these two, or of a saga with itself, which means nothing.
#include <fmt/format.h>

#include <algorithm>

#include "isolation/checker/analyses.h"

namespace skald::checker {
namespace {

struct Precedence {
  Index from, to;               // nodes
  Index earlier, later;         // entries; kNone at a node of an add
};

class Graph {
 public:
  explicit Graph(const History& history) : history_(history), nodes_(static_cast<Index>(history.sagas.size())) {
    add_writes();
    add_reads();
    sort();
  }

  Index nodes() const { return nodes_; }
  bool is_saga(Index node) const { return node < history_.sagas.size(); }
  std::span<const Precedence> from(Index node) const {
    return {edges_.data() + first_[node], edges_.data() + first_[node + 1]};
  }

 private:
  Index saga(Index write) const { return history_.entry_of(write).saga; }
  bool absolute(Index write) const { return history_.kind_of(write) == Kind::write; }
  Index upto(Index write) const { return of_add_[write]; }
  Index behind(Index write) const { return of_add_[write] + 1; }

  void connect(Index from, Index to, Index earlier, Index later) {
    if (from != to) edges_.push_back({from, to, earlier, later});
  }

  void add_writes() {
    std::vector<Index> last(history_.rows, kNone);
    first_of_row_.assign(history_.rows, kNone);
    at_.assign(history_.writes.size(), kNone);
    next_.assign(history_.writes.size(), kNone);
    of_add_.assign(history_.writes.size(), kNone);
    for (Index write = 0; write < history_.writes.size(); ++write) {
      const Entry& entry = history_.entry_of(write);
      Index& before = last[entry.row];
      if (history_.effective(write)) {
        (before == kNone ? first_of_row_[entry.row] : next_[before]) = write;
        if (absolute(write)) add_absolute(write, before);
        else add_commutative(write, before);
        before = write;
      }
      at_[write] = before;
    }
  }

  void add_absolute(Index write, Index before) {
    if (before == kNone) return;
    const Index entry = history_.writes[write].entry;
    if (absolute(before)) {
      connect(saga(before), saga(write), history_.writes[before].entry, entry);
    } else {
      connect(upto(before), saga(write), kNone, entry);
      connect(behind(before), saga(write), kNone, entry);
    }
  }

  void add_commutative(Index write, Index before) {
    const Index entry = history_.writes[write].entry;
    of_add_[write] = nodes_;
    nodes_ += 2;
    connect(saga(write), upto(write), entry, kNone);
    connect(behind(write), saga(write), kNone, entry);
    if (before == kNone) return;
    if (absolute(before)) {
      connect(saga(before), behind(write), history_.writes[before].entry, kNone);
    } else {
      connect(upto(before), upto(write), kNone, kNone);
      connect(behind(before), behind(write), kNone, kNone);
    }
  }

  void add_reads() {
    for (Index at = 0; at < history_.entries.size(); ++at) {
      const Entry& entry = history_.entries[at];
      if (entry.operation->kind != Kind::read || entry.seen == kUnknown) continue;
      if (entry.superseded || entry.outdated || history_.sagas[entry.saga].compensated) continue;
      const Index seen = entry.seen == kNone ? kNone : at_[entry.seen];
      const Index next = seen == kNone ? first_of_row_[entry.row] : next_[seen];
      if (seen != kNone) {
        if (absolute(seen)) connect(saga(seen), entry.saga, history_.writes[seen].entry, at);
        else connect(upto(seen), entry.saga, kNone, at);
      }
      if (next != kNone) {
        if (absolute(next)) connect(entry.saga, saga(next), at, history_.writes[next].entry);
        else connect(entry.saga, behind(next), at, kNone);
      }
    }
  }

  void sort() {
    first_.assign(nodes_ + 1, 0);
    for (const Precedence& edge : edges_) ++first_[edge.from + 1];
    for (Index node = 0; node < nodes_; ++node) first_[node + 1] += first_[node];
    std::vector<Index> next(first_.begin(), first_.end() - 1);
    std::vector<Precedence> sorted(edges_.size());
    for (const Precedence& edge : edges_) sorted[next[edge.from]++] = edge;
    edges_ = std::move(sorted);
  }

  const History& history_;
  Index nodes_;
  std::vector<Precedence> edges_;
  std::vector<Index> first_;            // by node: its first edge
  std::vector<Index> first_of_row_;     // effective writes
  std::vector<Index> at_, next_;  // by write: the effective one at or before it; the next after an effective one
  std::vector<Index> of_add_;  // by write: its node `upto`, `from` is the next number
};

// Tarjan's components, without recursion: histories are deeper than a stack.
class Components {
 public:
  explicit Components(const Graph& graph)
      : of(graph.nodes(), kNone), graph_(graph), order_(graph.nodes(), 0), low_(graph.nodes(), 0) {
    for (Index node = 0; node < graph.nodes(); ++node)
      if (order_[node] == 0) visit(node);
  }

  std::vector<Index> of;  // by node
  Index count = 0;

 private:
  struct Frame {
    Index node;
    std::size_t edge;
  };

  void enter(Index node) {
    order_[node] = low_[node] = ++clock_;
    open_.push_back(node);
    frames_.push_back({node, 0});
  }

  void visit(Index root) {
    enter(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const auto edges = graph_.from(frame.node);
      if (frame.edge < edges.size()) {
        const Index to = edges[frame.edge++].to;
        if (order_[to] == 0) enter(to);
        else if (of[to] == kNone) low_[frame.node] = std::min(low_[frame.node], order_[to]);
      } else {
        leave(frame.node);
      }
    }
  }

  void leave(Index node) {
    frames_.pop_back();
    if (!frames_.empty()) low_[frames_.back().node] = std::min(low_[frames_.back().node], low_[node]);
    if (low_[node] != order_[node]) return;
    for (Index member = kNone; member != node; open_.pop_back()) of[member = open_.back()] = count;
    ++count;
  }

  const Graph& graph_;
  std::vector<Index> order_, low_, open_;
  std::vector<Frame> frames_;
  Index clock_ = 0;
};

// The shortest way from a saga through at least one other back to it, inside of its component.
class Circle {
 public:
  Circle(const Graph& graph, const Components& components) : graph_(graph), components_(components) {}

  std::vector<Precedence> through(Index start) {
    came_.clear();
    std::vector<Step> queue{{start, false}};
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const Step here = queue[head];
      for (const Precedence& edge : graph_.from(here.node)) {
        if (components_.of[edge.to] != components_.of[start]) continue;
        if (edge.to == start && !here.met) continue;
        const Step next{edge.to, here.met || graph_.is_saga(edge.to)};
        if (!came_.emplace(key(next), std::pair(here, &edge)).second) continue;
        if (edge.to == start) return way(next, start);
        queue.push_back(next);
      }
    }
    return {};
  }

 private:
  struct Step {
    Index node;
    bool met;  // another saga on the way
  };
  static std::uint64_t key(Step step) { return std::uint64_t{step.node} << 1 | (step.met ? 1 : 0); }

  std::vector<Precedence> way(Step end, Index start) const {
    std::vector<Precedence> way;
    do {
      const auto& [before, edge] = came_.at(key(end));
      way.push_back(*edge);
      end = before;
    } while (end.node != start);
    std::reverse(way.begin(), way.end());
    return way;
  }

  const Graph& graph_;
  const Components& components_;
  std::unordered_map<std::uint64_t, std::pair<Step, const Precedence*>> came_;
};

// The way without the nodes of adds: pairs of entries, (earlier, later).
std::vector<std::pair<Index, Index>> pairs(const std::vector<Precedence>& way) {
  std::vector<std::pair<Index, Index>> result;
  Index earlier = kNone;
  for (const Precedence& edge : way) {
    if (edge.earlier != kNone) earlier = edge.earlier;
    if (edge.later != kNone) result.emplace_back(earlier, edge.later);
  }
  return result;
}

EdgeKind kind_of(const History& history, Index earlier, Index later) {
  if (history.operation(earlier).kind == Kind::read) return EdgeKind::rw;
  return history.operation(later).kind == Kind::read ? EdgeKind::wr : EdgeKind::ww;
}

std::string_view verb(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::rw: return "overwrote what it had read of";
    case EdgeKind::wr: return "read what it had written to";
    default: return "overwrote what it had written to";
  }
}

void report(const History& history, const std::vector<Precedence>& way, Findings& findings) {
  std::vector<Index> parts;
  std::vector<Edge> edges;
  std::string told;
  for (const auto& [earlier, later] : pairs(way)) {
    const EdgeKind kind = kind_of(history, earlier, later);
    parts.push_back(earlier);
    edges.push_back(findings.edge(kind, earlier, later));
    told += fmt::format("{}{} comes before {}, which {} {} ({})", told.empty() ? "" : "; ", findings.who(earlier),
                        findings.who(later), verb(kind), findings.row(later), enum_name(kind));
  }
  const bool of_one_row = std::all_of(parts.begin(), parts.end(), [&](Index at) {
    return history.entries[at].row == history.entries[parts.front()].row;
  });
  if (of_one_row && findings.explained(parts)) return;
  findings.add(Anomaly::cycle, parts, std::move(edges), "no serial order explains these sagas: " + told);
}

}  // namespace

void check_cycles(const History& history, Findings& findings) {
  const Graph graph(history);
  const Components components(graph);
  std::vector<Index> sagas(components.count, 0);
  Circle circle(graph, components);
  for (Index saga = 0; saga < history.sagas.size(); ++saga) ++sagas[components.of[saga]];
  for (Index saga = 0; saga < history.sagas.size(); ++saga) {
    Index& count = sagas[components.of[saga]];
    if (count < 2) continue;
    count = 0;  // one circle tells of its component
    if (const auto way = circle.through(saga); !way.empty()) report(history, way, findings);
  }
}

}  // namespace skald::checker
