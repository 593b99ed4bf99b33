#include "crash/poison_paths.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "crash/poison.h"

namespace skald::crash {
namespace {

#if defined(__clang__)
__attribute__((no_sanitize("undefined", "address")))
#endif
void write_nowhere() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

[[noreturn]] void fail() { throw std::runtime_error("the poison works"); }

[[noreturn]] void die_by(Death how) {
  switch (how) {
    case Death::abort: std::abort();
    case Death::null_write: write_nowhere(); break;
    case Death::terminate: []() noexcept { fail(); }(); break;
    case Death::stray: std::thread(fail).join(); break;
    case Death::sigkill: kill(getpid(), SIGKILL); break;
  }
  for (;;) pause();
}

// Its lock is for others to see while it waits for a person.
Saga<Poison> remote_poison() {
  return Saga<Poison>(kPoisonType)
      .local("touch", [](Local&, Poison&) {})
      .nothing_to_undo()
      .holds("poison", &Poison::name, exclusive)
      .remote("crash", [](Remote&, Poison& poison) { die_by(poison.how); })
      .nothing_to_undo();
}

// The call before it makes the saga durable: the transaction that kills is not its first.
Saga<Poison> local_poison() {
  return Saga<Poison>(kPoisonLocalType)
      .local("touch", [](Local&, Poison&) {})
      .nothing_to_undo()
      .holds("poison", &Poison::name, exclusive)
      .remote("pass", [](Remote&, Poison&) {})
      .nothing_to_undo()
      .local("crash", [](Local&, Poison& poison) { die_by(poison.how); })
      .nothing_to_undo();
}

struct PoisonView {
  std::string id;
};
BOOST_DESCRIBE_STRUCT(PoisonView, (), (id))

std::string emit_poison(Transaction& tx, const PoisonEvent& asked) {
  std::string id;
  for (std::int64_t i = 0; i < asked.innocents; ++i) {
    if (i == asked.innocents / 2)
      id = tx.emit({.type = kPoisonType, .key = "poison", .subject = "poison", .payload = to_json(asked)});
    const std::string name = "innocent-" + std::to_string(i);
    tx.emit({.type = kInnocentType, .key = name, .subject = name, .payload = "{}"});
  }
  return id;
}

}  // namespace

void add_poison_paths(http::Routes& routes, Engine& engine) {
  const Saga<Poison> remote = remote_poison(), local = local_poison();
  engine.sagas().add(remote);
  engine.sagas().add(local);
  routes.act("/test/poison", Access::open, describe<Poison, PoisonView>("Start a saga that kills its process"),
             [&engine, remote, local](const Request& request) {
               const auto poison = request.as<Poison>();
               const auto& saga = poison.what == Poisoned::local_step ? local : remote;
               return Response::json(202, PoisonView{engine.sagas().start(saga, poison).id});
             });
  engine.consume({.name = "poison", .type = kPoisonType, .handle = [](Transaction&, const Message& message) {
                    die_by(from_json<PoisonEvent>(message.event.payload).how);
                  }});
  engine.consume({.name = "innocent", .type = kInnocentType, .handle = [](Transaction&, const Message&) {}});
  routes.act("/test/poison-event", Access::open,
             describe<PoisonEvent, PoisonView>("Emit an event whose handler kills its process"),
             [&engine](const Request& request) {
               const auto asked = request.as<PoisonEvent>();
               return Response::json(202,
                                     PoisonView{engine.database().write_result(
                                         "poison event", [&](Transaction& tx) { return emit_poison(tx, asked); })});
             });
}

}  // namespace skald::crash
