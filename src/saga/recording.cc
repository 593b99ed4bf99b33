#include "saga/recording.h"

#include "store/tables/history.h"

namespace skald::saga {
namespace {

using checker::Operation;

Operation operation_of(const Instance& saga, checker::Kind kind) {
  Operation out;
  out.saga_id = saga.row.root;
  out.saga_type = saga.row.type;
  out.kind = kind;
  return out;
}

// Of a child: which part of its root it is.
std::string part_of(const Instance& saga) { return saga.row.id.substr(saga.row.root.size()); }

// Children are under their root's id, elements under their step's: their names tell them apart.
std::string name_of(const Instance& saga, const Next& what, int element) {
  std::string out = part_of(saga);
  if (!out.empty()) out += ' ';
  out += what.step->name;
  if (what.step->count) out += " #" + std::to_string(element);
  return out;
}

checker::Kind kind_of(RowAccess::Kind kind, bool undoing) {
  switch (kind) {
    case RowAccess::Kind::read: return checker::Kind::read;
    case RowAccess::Kind::write: return undoing ? checker::Kind::undo_write : checker::Kind::write;
    case RowAccess::Kind::add: break;
  }
  return undoing ? checker::Kind::undo_add : checker::Kind::add;
}

}  // namespace

Recording::Recording(Transaction& tx, Instance& saga, const Next& what) : tx_(tx), saga_(saga), what_(what) {
  if (saga_.recorded) tx_.watch(this);
}

Recording::~Recording() {
  if (saga_.recorded) tx_.watch(nullptr);
}

void Recording::note(const RowAccess& access) {
  const bool undoing = what_.act == Next::Act::undo;
  Operation out = operation_of(saga_, kind_of(access.kind, undoing));
  out.step = name_of(saga_, what_, what_.elements.empty() ? 0 : what_.elements.front());
  out.resource = access.resource;
  out.key = access.key;
  out.version_read = access.version_read;
  out.version_written = access.version_written;
  if (what_.step->nothing_to_undo && checker::Kind::read != out.kind) out.lasting = true;
  saga_.operations.push_back(std::move(out));
}

void record_begin(Instance& saga) {
  if (saga.recorded && saga.row.parent.empty()) saga.operations.push_back(operation_of(saga, checker::Kind::begin));
}

void record_done(Instance& saga, const Next& what, int element) {
  if (!saga.recorded || !what.step->undo) return;
  Operation out = operation_of(saga, what.act == Next::Act::undo ? checker::Kind::compensation : checker::Kind::action);
  out.step = name_of(saga, what, element);
  saga.operations.push_back(std::move(out));
}

void record_assumed(Instance& saga, std::size_t known) {
  for (std::size_t i = known; i < saga.progress.done.size(); ++i) {
    const auto [index, element] = saga.progress.done[i];
    const Step& step = saga.definition->steps[static_cast<std::size_t>(index)];
    record_done(saga, {Next::Act::run, &step, index, {element}}, element);
  }
}

void record_lock(Instance& saga, checker::Kind kind, const tables::semantic_lock::Row& row) {
  if (!saga.recorded) return;
  Operation out = operation_of(saga, kind);
  if (row.root != saga.row.root) out.saga_type.clear();  // granted to another, whose type is not known here
  out.saga_id = row.root;
  out.step = row.step;
  out.resource = row.place.resource;
  out.key = row.place.key;
  out.mode = row.mode;
  saga.operations.push_back(std::move(out));
}

void record_finish(Instance& saga, checker::Outcome outcome) {
  const bool whole = saga.row.parent.empty();
  if (!saga.recorded || (!whole && outcome == checker::Outcome::parked)) return;
  Operation out = operation_of(saga, checker::Kind::finish);
  out.step = part_of(saga);
  out.outcome = outcome;
  saga.operations.push_back(std::move(out));
}

std::vector<Operation> reads_since(const Instance& saga, std::size_t first) {
  std::vector<Operation> out;
  for (std::size_t i = first; i < saga.operations.size(); ++i)
    if (saga.operations[i].kind == checker::Kind::read) out.push_back(saga.operations[i]);
  return out;
}

void store_recorded(Transaction& tx, Instance& saga) {
  if (saga.operations.empty()) return;
  std::string lines;
  for (const Operation& operation : saga.operations) {
    json::write(lines, operation);
    lines += '\n';
  }
  tables::history::append(tx, saga.row.root, lines);
  saga.operations.clear();
}

}  // namespace skald::saga
