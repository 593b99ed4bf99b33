// An engine: one database with its outbox, inbox, dead letters and workers, run by
// threads of this process until stop().
//
//   auto db = open_sqlite(env, {.path = "donation.db"});
//   Engine engine(env, *db, {});
//   engine.consume({.name = "thank-you", .type = "donation.accepted", .handle = …});
//   engine.route({.type = "donation.*", .bus = &webhooks});
//   engine.start();
//
// Any number of processes may run an engine on one PostgreSQL database. Each engine
// needs a Database of its own, also beside another in one process: it hangs the
// outbox and its wake-ups into the handle, and its worker row names the handle's
// sessions, which end when others take its work over.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skald/database.h"
#include "skald/outbox.h"
#include "skald/post.h"
#include "skald/sagas.h"
#include "skald/story.h"

namespace skald {

namespace runtime {
class Steps;
}

struct EngineOptions {
  OutboxOptions outbox = {};
  std::string fallback_file = {};      // the second net for dead letters; empty: none
  // A dying process notes the step or handler that it died in, in a file of this name and its pid behind it; the next
  // one to start here reads it. Installs handlers for the signals of crashes. Empty: none.
  std::string crash_notes = {};
  // Wakes a person; called from the engine's threads, must not block or throw.
  std::function<void(std::string_view code, std::string_view text)> alert = {};
  int saga_threads = 4;  // that run sagas which their starters have left
  // How long an undo, a call without an answer or a step behind the pivot is tried before the saga needs help.
  Duration saga_patience = std::chrono::minutes(5);
  Duration saga_retention = std::chrono::days(30);  // of ended sagas, and of barriers
  bool record_history = false;  // of what sagas read and write, for the checker
  Duration history_retention = std::chrono::hours(24);
  bool works = true;  // false: only emits; other processes deliver
};

struct WorkerView {
  std::string id, host;
  std::int64_t pid = 0;
  Time heartbeat_at{};
  std::int64_t running = 0;  // partitions that it owns
};
BOOST_DESCRIBE_STRUCT(WorkerView, (), (id, host, pid, heartbeat_at, running))

struct BacklogView {
  std::int64_t live = 0;
  std::optional<Time> oldest;
};

class Engine {
 public:
  // Brings the engine's schema up to date. `db` is no other engine's; it and what
  // `env` refers to must outlive the engine.
  Engine(Env env, Database& db, EngineOptions options);
  ~Engine();  // stops, if nobody has
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Before start() only.
  void consume(Consumer consumer);
  void route(Route route);
  // Drives the inlet, which lands in this engine, in a thread of its own. Invalid
  // (RETENTION_TOO_SHORT) where an event could come again after its id is forgotten.
  // The inlet outlives the engine's threads.
  void receive(Inlet& inlet);
  // By whom letters to other services go, and who gets which events (skald/post.h). A subscriber is written down when
  // the engine starts, and stays until it is removed.
  void post(Courier& courier);
  void subscriber(Subscriber subscriber);
  void on_settled(std::string type, Settled settled);
  void add_job(Job job);
  void tell(Storyteller teller);

  void start();
  // Begins nothing new, finishes what is under way within `grace`, hands the rest
  // over. Idempotent.
  void stop(Duration grace = 10s);

  Database& database();
  Sagas& sagas();
  // Ready: the database answers and this process's lease is good.
  bool ready();
  // Everything that carries events to and from other services is up, as of the last second.
  bool buses_up() const;
  BacklogView backlog();
  std::vector<WorkerView> workers();

  std::optional<Entry> find_entry(Transaction& tx, std::string_view id);
  // The hash that the outbox keeps with an event of this subject, type and payload.
  std::string content_hash(const Event& event) const;

  // What this engine and its services know under one name of a business key. The engine's own part
  // has no owner.
  std::vector<StoryPart> story(Transaction& tx, const std::string& name);

  // Events that other services have sent, in their order: kept like our own from here on,
  // and handled by our consumers with the same order per key, retries and dead letters: at
  // once, in this thread, where nothing stands in front of them. Those that are known are left
  // out. Returns when they are durable.
  void land(std::span<const Message> messages);
  // Letters of other services, and their questions: what a letterbox calls. Thread safe; accept() does not throw.
  std::vector<Receipt> accept(std::span<const Letter> letters);
  Knowledge answer(const Inquiry& inquiry);
  std::vector<SubscriberView> subscribers();  // by name
  std::optional<SubscriberDetail> find_subscriber(Transaction& tx, std::string_view name);
  // It is owed nothing any more: how many events it was owed. `actor` and `reason` go into the audit. NotFound. One that
  // is still configured comes back at the next start().
  std::int64_t remove_subscriber(Transaction& tx, std::string_view name, std::string_view actor,
                                 std::string_view reason);
  // What came from another service and is no event: kept as a dead letter (UNREADABLE)
  // for a person, who is told. Known ones are left out. Returns when it is durable.
  void set_aside(std::string_view origin, std::string_view bytes, std::string_view why);

  // Operators' decisions, in the caller's transaction (see dead letters in
  // docs/operating.md). `actor` goes into the audit.
  void replay(Transaction& tx, std::string_view id, std::string_view actor);
  void discard(Transaction& tx, std::string_view id, std::string_view actor, std::string_view reason);
  // Brings the fallback file's records back into the table. Known: those that need
  // no dead letter, because there is one or the event was delivered after all.
  struct Imported {
    std::int64_t imported = 0, known = 0, damaged = 0;
  };
  Imported import_dead_letters(std::string_view actor);
  // Something became deliverable by other means than a committed emit (replay).
  void wake(std::string_view key);

 private:
  friend class runtime::Steps;  // runs an engine without its threads
  class Threads;
  std::unique_ptr<Threads> threads_;
};
BOOST_DESCRIBE_STRUCT(Engine::Imported, (), (imported, known, damaged))

}  // namespace skald
