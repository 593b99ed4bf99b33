#include "skald/engine.h"

#include <algorithm>
#include <mutex>

#include "dead_letter/undertaker.h"
#include "isolation/schema.h"
#include "outbox/emitter.h"
#include "outbox/integrity.h"
#include "outbox/job_board.h"
#include "outbox/lander.h"
#include "outbox/membership.h"
#include "outbox/relay.h"
#include "runtime/announcement_gap.h"
#include "runtime/crash_report.h"
#include "runtime/hand_over.h"
#include "runtime/housekeeping.h"
#include "runtime/identity.h"
#include "runtime/loop.h"
#include "runtime/posting.h"
#include "runtime/receiving.h"
#include "runtime/saga_threads.h"
#include "runtime/steps.h"
#include "runtime/story.h"
#include "runtime/worker_views.h"
#include "store/health.h"
#include "store/tables/outbox.h"
#include "store/tables/schema.h"
#include "store/tables/worker.h"

namespace skald {
namespace {

using runtime::Loop;
using runtime::Wakeup;

// A handler that runs longer than this counts as stuck: its worker stops beating
// and others take its work over.
constexpr Duration kStuckAfter = std::chrono::seconds(30);
// A saga's remote call may take its time.
constexpr Duration kStuckCallAfter = std::chrono::minutes(5);
constexpr Duration kForever = std::chrono::hours(1);

}  // namespace

// Everything an engine is made of, and the threads that drive it.
class Engine::Threads {
 public:
  Threads(Env env, Database& db, EngineOptions options)
      : env_(env),
        db_(db),
        options_(std::move(options)),
        emitter_(
            options_.outbox, routing_,
            [this](std::uint64_t local, std::uint64_t all) { wake(posting_.is_used() ? local : all, all); },
            [this](std::uint64_t partitions) { return partitions & ~own_partitions(); }),
        notes_(options_.crash_notes.empty() ? nullptr : std::make_unique<CrashNotes>(options_.crash_notes)),
        file_(options_.fallback_file.empty() ? nullptr : std::make_unique<FallbackFile>(options_.fallback_file)),
        undertaker_(env, db, file_.get(), [this](std::string_view code, std::string_view text) { alert(code, text); }),
        membership_(env, db, runtime::identity_of_process(),
                    db.dialect() == Dialect::sqlite ? outbox::Membership::Kind::sole : outbox::Membership::Kind::leased,
                    options_.outbox),
        relay_(env, db, membership_, routing_, undertaker_, options_.outbox, notes_.get()),
        lander_(
            env, db, membership_, routing_, relay_, undertaker_, options_.outbox,
            [this](std::uint64_t partitions) { wake(partitions, 0); }, notes_.get()),
        posting_(env, db, membership_, routing_, options_.outbox,
                 [this](std::string_view code, std::string_view text) { alert(code, text); }),
        jobs_(env, db),
        sagas_(env, db, {[this] { return worker_for_sagas(); }, [this] { db_.announce(std::vector<int>{0}); }},
               {options_.saga_threads, options_.saga_patience, options_.record_history, options_.outbox.crash_retries,
                notes_.get()}),
        receiving_(env, [this] { return receivable_partitions(); }),
        relaying_(
            env, "relay", [this] { return relay(); },
            [this](Duration longest, Wakeup& wakeup) { wait_for_events(longest, wakeup); }),
        beating_(env, "beat", [this] { return beat(); }),
        announcing_(env, "announce", [this] { return announce(); }),
        working_(env, "jobs", [this] { return jobs_.run_once(); }) {
    db_.migrate(tables::kComponent, tables::migrations());
    db_.migrate(isolation::kComponent, isolation::isolation_migrations());
    db_.set_commit_hook(&emitter_);
    db_.set_announcement_waker([this] {
      ++announcements_;
      announcing_.wake();
    });
    for (Job& job : runtime::housekeeping(db_, options_)) jobs_.add(std::move(job));
    jobs_.add({"skald.crashed", std::chrono::minutes(1), [this] { retry_crashed(); }});
  }

  ~Threads() {
    stop(Duration::zero());
    db_.set_commit_hook(nullptr);
    db_.set_announcement_waker({});
  }

  void start() {
    buses_ = routing_.buses();
    if (notes_) runtime::report_crashes(env_, db_, *notes_);
    if (options_.works) {
      membership_.run_once();  // a database that cannot be worked on shows here, not in a log
      note_worker();
      listener_ = db_.listen();
      emitter_.set_subscribed(posting_.start(true));
      sagas_.start(true);
      relaying_.start();
      receiving_.start();
      beating_.start();
      working_.start();
    }
    if (!options_.works) sagas_.start(false);
    announcing_.start();
    running_ = true;
  }

  void stop(Duration grace) {
    if (!running_) return;
    running_ = false;
    draining_ = true;
    receiving_.wake();
    runtime::HandOver hand_over(env_, db_,
                                {membership_, relay_, lander_, posting_, sagas_, relaying_, working_, relay_in_hand_});
    const bool ended = !options_.works || hand_over.drain(env_.clock.steady() + grace);
    if (ended) stop_working();
    beating_.stop();
    announcing_.stop();
    if (options_.works) hand_over.leave(ended);
    stop_working();
  }

  // Partitions with something for the relay, and with something for the post.
  void wake(std::uint64_t relayed, std::uint64_t posted) noexcept {
    const std::uint64_t own = own_partitions(), elsewhere = (relayed | posted) & ~own;
    if ((relayed & own) != 0) {
      relay_.wake(relayed & own);
      if (!relay_.rests()) relaying_.wake();
    }
    posting_.wake(posted & own);
    if (elsewhere != 0) db_.announce(tables::partition::ids_in(elsewhere));
  }

  Duration relay() {
    const Duration idle = relay_.run_once();
    relay_in_hand_ = relay_.in_hand();
    buses_ready_ = std::ranges::all_of(buses_, [](const Bus* bus) { return bus->is_ready(); });
    return idle;
  }

  Duration beat() {
    if (relaying_.busy_for() > kStuckAfter || lander_.busy_for() > kStuckAfter || sagas_.busy_for() > kStuckCallAfter) {
      env_.observer.log(Observer::Level::error,
                        "a handler is stuck; this worker stops beating so that others can take over");
      return options_.outbox.beat;
    }
    const auto before = membership_.view();
    const auto result = membership_.run_once();
    note_worker();
    if (result.saga_due_in) sagas_.note_due(*result.saga_due_in);
    if (result.live != 0 || membership_.view() != before) {
      relay_.wake(result.live);
      relaying_.wake();
    }
    if (membership_.view() != before) receiving_.wake();
    if (membership_.view() != before || result.subscribers_changed) posting_.look_again();
    posting_.wake(result.owed);
    return result.again_in;
  }

  bool buses_up() const { return buses_ready_ && (!options_.works || (receiving_.all_up() && posting_.is_up())); }

  Env env_;
  Database& db_;
  EngineOptions options_;
  outbox::Routing routing_;
  outbox::Emitter emitter_;
  std::unique_ptr<CrashNotes> notes_;
  std::unique_ptr<FallbackFile> file_;
  dead_letter::Undertaker undertaker_;
  outbox::Membership membership_;
  outbox::Relay relay_;
  outbox::Lander lander_;
  runtime::Posting posting_;
  outbox::JobBoard jobs_;
  runtime::SagaThreads sagas_;
  runtime::Receiving receiving_;
  std::vector<Storyteller> tellers_;

 private:
  void stop_working() {
    receiving_.stop();
    sagas_.stop();
    working_.stop();
    posting_.stop();
    relaying_.stop();
  }

  std::uint64_t own_partitions() const {
    std::uint64_t own = 0;
    if (!options_.works) return own;
    for (const auto& share : membership_.view()->shares) own |= std::uint64_t{1} << share.partition;
    return own;
  }

  // Under a lease that can be trusted, but for what another worker is about to have.
  std::uint64_t receivable_partitions() const {
    std::uint64_t out = 0;
    if (!membership_.trusted() || draining_) return out;
    for (const auto& share : membership_.view()->shares)
      if (!share.leaving) out |= std::uint64_t{1} << share.partition;
    return out;
  }

  // Sagas are begun or claimed only under a lease that can be trusted.
  std::string worker_for_sagas() const {
    return options_.works && membership_.trusted() ? membership_.view()->worker : std::string();
  }

  Duration announce() {
    const Duration gap = announcement_gap_.next(announcements_.exchange(0));
    if (!db_.flush_announcements()) return kForever;
    pause_.wait(gap);
    return Duration::zero();
  }

  void wait_for_events(Duration longest, Wakeup& wakeup) {
    std::vector<int> fds;
    if (listener_) fds.push_back(listener_->fd());
    std::vector<Bus*> busy;
    for (Bus* bus : buses_)
      if (bus->in_flight() > 0 || !bus->is_ready()) busy.push_back(bus);
    if (busy.empty()) {
      wakeup.wait(longest, fds);
    } else {
      // With several busy buses the others are looked at every few milliseconds.
      fds.push_back(wakeup.fd());
      busy.front()->poll(busy.size() > 1 ? std::min<Duration>(longest, 5ms) : longest, fds);
      wakeup.clear();
    }
    if (listener_) {
      std::uint64_t announced = 0;
      const Listener::Heard heard = listener_->drain();
      for (const int partition : heard.partitions) {
        if (partition == tables::worker::kChanged) beating_.wake();
        else announced |= std::uint64_t{1} << partition;
      }
      for (const auto& offer : heard.offers) {
        auto entry = tables::outbox::read_offer(offer.text);
        if (entry && entry->owed != 0) posting_.wake(std::uint64_t{1} << entry->partition);
        if (entry && routing_.plan(*entry).is_local()) relay_.offer(std::move(*entry));
        else if (!entry || entry->owed == 0) announced |= std::uint64_t{1} << offer.partition;
      }
      if (announced != 0) relay_.wake(announced);
      posting_.wake(announced);
      if ((announced & 1) != 0) sagas_.note_due(Duration::zero());  // see the sagas' announcement
    }
  }

  void note_worker() {
    if (notes_) notes_->worker_is(membership_.view()->worker);
  }

  void retry_crashed() {
    if (const std::uint64_t partitions = runtime::retry_crashed(env_, db_, routing_)) wake(partitions, 0);
  }

  void alert(std::string_view code, std::string_view text) {
    env_.observer.count("alerts_total");
    env_.observer.log(Observer::Level::critical, text, "\"code\":" + to_json(std::string(code)));
    if (options_.alert) options_.alert(code, text);
  }

  std::vector<Bus*> buses_;
  std::unique_ptr<Listener> listener_;
  std::atomic<std::size_t> relay_in_hand_{0};
  std::atomic<bool> buses_ready_{true};
  runtime::AnnouncementGap announcement_gap_;
  std::atomic<int> announcements_{0};  // asked for since the last were sent
  Wakeup pause_;  // nobody sets it
  bool running_ = false;
  std::atomic<bool> draining_{false};
  Loop relaying_, beating_, announcing_, working_;
};

Engine::Engine(Env env, Database& db, EngineOptions options)
    : threads_(std::make_unique<Threads>(env, db, std::move(options))) {}
Engine::~Engine() = default;

void Engine::consume(Consumer consumer) { threads_->routing_.add(std::move(consumer)); }
void Engine::post(Courier& courier) { threads_->posting_.set_courier(courier); }
void Engine::subscriber(Subscriber subscriber) { threads_->posting_.add(std::move(subscriber)); }
void Engine::route(Route route) { threads_->routing_.add(std::move(route)); }
void Engine::receive(Inlet& inlet) {
  if (threads_->options_.outbox.retention < inlet.memory())
    throw Invalid("RETENTION_TOO_SHORT",
                  "entries of the outbox must be kept for at least as long as the bus keeps events, or one that comes "
                  "again would not be known: raise outbox.retention to " +
                      std::to_string(std::chrono::ceil<std::chrono::hours>(inlet.memory()).count()) + "h or more");
  threads_->receiving_.add(inlet);
}
void Engine::on_settled(std::string type, Settled settled) {
  threads_->routing_.on_settled(std::move(type), std::move(settled));
}
void Engine::add_job(Job job) { threads_->jobs_.add(std::move(job)); }
void Engine::tell(Storyteller teller) { threads_->tellers_.push_back(std::move(teller)); }
void Engine::start() { threads_->start(); }
void Engine::stop(Duration grace) { threads_->stop(grace); }
Database& Engine::database() { return threads_->db_; }
Sagas& Engine::sagas() { return threads_->sagas_; }

bool Engine::ready() {
  if (!can_write(threads_->db_)) return false;
  return !threads_->options_.works ||
         (threads_->membership_.trusted() && !threads_->membership_.view()->worker.empty());
}

bool Engine::buses_up() const { return threads_->buses_up(); }

BacklogView Engine::backlog() {
  const auto found = threads_->db_.read_result([](Transaction& tx) { return tables::outbox::backlog(tx); });
  return {found.live, found.oldest};
}

std::vector<WorkerView> Engine::workers() { return threads_->db_.read_result(runtime::workers_of); }

std::string Engine::content_hash(const Event& event) const {
  return outbox::content_hash(event, threads_->options_.outbox.hash_key);
}
std::optional<Entry> Engine::find_entry(Transaction& tx, std::string_view id) { return tables::outbox::find(tx, id); }

std::vector<StoryPart> Engine::story(Transaction& tx, const std::string& name) {
  std::vector<StoryPart> out{runtime::tell(tx, threads_->sagas_, name)};
  for (const Storyteller& teller : threads_->tellers_) std::ranges::move(teller(tx, name), std::back_inserter(out));
  return out;
}

void Engine::land(std::span<const Message> messages) { threads_->lander_.land(messages); }
std::vector<Receipt> Engine::accept(std::span<const Letter> letters) { return threads_->lander_.accept(letters); }
Knowledge Engine::answer(const Inquiry& inquiry) { return threads_->lander_.answer(inquiry); }

std::vector<SubscriberView> Engine::subscribers() { return threads_->posting_.views(); }

std::optional<SubscriberDetail> Engine::find_subscriber(Transaction& tx, std::string_view name) {
  return threads_->posting_.find(tx, name);
}

std::int64_t Engine::remove_subscriber(Transaction& tx, std::string_view name, std::string_view actor,
                                       std::string_view reason) {
  return threads_->posting_.remove(tx, name, actor, reason);
}

void Engine::set_aside(std::string_view origin, std::string_view bytes, std::string_view why) {
  threads_->undertaker_.set_aside(origin, bytes, why);
}

void Engine::replay(Transaction& tx, std::string_view id, std::string_view actor) {
  dead_letter::replay(tx, threads_->env_.random, id, actor, [&](Transaction& same, const Entry& entry) {
    threads_->routing_.settle(same, entry, EntryStatus::PENDING);
  });
}

void Engine::discard(Transaction& tx, std::string_view id, std::string_view actor, std::string_view reason) {
  dead_letter::discard(tx, threads_->env_.random, id, actor, reason);
}

Engine::Imported Engine::import_dead_letters(std::string_view actor) {
  if (threads_->options_.fallback_file.empty()) return {};
  const auto done =
      dead_letter::import_fallback_file(threads_->env_, threads_->db_, threads_->options_.fallback_file, actor);
  return {done.imported, done.known, done.damaged};
}

void Engine::wake(std::string_view key) { threads_->wake(std::uint64_t{1} << partition_of(key), 0); }

namespace runtime {

Duration Steps::beat() { return engine_.threads_->beat(); }
Duration Steps::relay() { return engine_.threads_->relay(); }
Duration Steps::jobs() { return engine_.threads_->jobs_.run_once(); }
SagaThreads& Steps::sagas() { return engine_.threads_->sagas_; }
Receiving& Steps::inlets() { return engine_.threads_->receiving_; }
Duration Steps::post() { return engine_.threads_->posting_.step(); }
void Steps::subscribe() { engine_.threads_->posting_.start(false); }
bool Steps::post_woken() const { return engine_.threads_->posting_.sender().has_work(); }
bool Steps::relay_woken() const { return engine_.threads_->relay_.has_work(); }
bool Steps::relay_idle() const { return engine_.threads_->relay_.in_hand() == 0; }
void Steps::leave() { engine_.threads_->membership_.leave(); }
void Steps::drain() {
  engine_.threads_->relay_.drain();
  engine_.threads_->posting_.sender().drain();
}

}  // namespace runtime

}  // namespace skald
