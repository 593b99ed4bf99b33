// skald_saga: one row per saga, its state, progress and step log with it.
//
// A row is owned by a worker (under a fence that counts up with every claim), or
// unowned: then it waits until `wake_at`, or for good where that is none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skald/database.h"
#include "skald/saga_view.h"

namespace skald::tables::saga {

struct Row {
  std::string id, type;
  int revision = 1;                       // of the definition that it began with
  std::string key, parent, root;
  SagaStatus status = SagaStatus::RUNNING;
  std::string owner;                      // empty: unowned
  std::int64_t fence = 0;
  int take_overs = 0;                     // since it last came forward
  std::optional<Time> wake_at, deadline_at;
  Time started_at{};
  std::optional<Time> finished_at;
  std::string progress, state;            // JSON
  std::string log;                        // JSON objects, a line each; on update: what is added
  std::string error_code, error_message;
  std::string traceparent;                // of who started it; empty: it belongs to no trace
};

void insert(Transaction& tx, const Row& row);
// Before the first statement of a transaction that will insert it and hardly asks for
// the time: it then need not ask for its own id.
void announce(Transaction& tx, std::string_view id);
// To be called under hold(). What row.log has is appended.
void update(Transaction& tx, const Row& row);
// Locks the row against every other owner until the transaction ends. False: it is
// no longer ours.
bool hold(Transaction& tx, std::string_view id, std::string_view owner, std::int64_t fence);

std::optional<Row> find(Transaction& tx, std::string_view id);
std::optional<Row> find_locked(Transaction& tx, std::string_view id);
// The live saga of a type and business key. Others who ask wait until this
// transaction ends.
std::optional<Row> find_live(Transaction& tx, std::string_view type, std::string_view key);

// As claim_due() and next_wake() are told of the definitions that can be gone on with.
std::string definition_name(std::string_view type, int revision);
// Takes unowned sagas whose time has come.
std::vector<Row> claim_due(Transaction& tx, std::string_view owner, std::span<const std::string> definitions,
                           std::size_t limit);
// Gives one that was just claimed back, until then.
void put_off(Transaction& tx, std::string_view id, Time until);
std::optional<Time> next_wake(Transaction& tx, std::span<const std::string> definitions);
// Unowned ones become due now; others are left as they are.
void wake(Transaction& tx, std::span<const std::string> ids);

// The sagas of a worker that is gone: unowned and due. `died`: counts as a take-over.
void release_all(Transaction& tx, std::string_view owner, bool died);
// These of `owner`: unowned and due. No take-over.
void release(Transaction& tx, std::string_view owner, std::span<const std::string> ids);
// Those of `owner` that are not in `kept`: unowned and due.
void release_others(Transaction& tx, std::string_view owner, std::span<const std::string> kept);
// Those that a worker took which was already gone: it had not noticed yet.
void release_adrift(Transaction& tx);

// Sagas that ended before then, with their signals; a child not before its parent has
// ended. How many, at most `most`.
std::int64_t forget_ended(Transaction& tx, Time before, int most);

struct Filter {
  std::optional<SagaStatus> status;
  std::optional<std::string> type, key, after;
  int limit = 50;
  std::optional<std::string> code = {};   // of its error
};
std::vector<Row> list(Transaction& tx, const Filter& filter);
// Live sagas by type and version: what a new program must be able to go on with.
struct InFlight {
  std::string type;
  int version = 1;
  std::int64_t count = 0;
  std::vector<std::string> ids;           // the first few
};
BOOST_DESCRIBE_STRUCT(InFlight, (), (type, version, count, ids))
std::vector<InFlight> in_flight(Transaction& tx);

}  // namespace skald::tables::saga
