// What course tells this service.
#include "booking/desk.h"
#include "booking/slot_copy.h"
#include "skald/lenient_json.h"

namespace booking {
namespace {

using skald::Message;
using skald::Transaction;

// A handler of one type of event, whose payload is a T. What cannot be read is a dead letter.
template <class T, class F>
void on(const DeskHandle& desk, const std::string& type, F handle) {
  const auto consume = [desk, handle](Transaction& tx, const Message& message) {
    handle(tx, skald::from_lenient_json<T>(message.event.payload),
           Cause{.actor = "course", .traceparent = message.event.traceparent});
  };
  desk->engine.consume({.name = "booking." + type, .type = type, .handle = consume});
}

}  // namespace

void add_answers(const DeskHandle& desk) {
  on<golf::SlotReserved>(desk, "slot.reserved",
                         [desk](Transaction& tx, const golf::SlotReserved& answer, const Cause& cause) {
                           desk->lifecycle->on_reserved(tx, answer, cause);
                         });
  on<golf::SlotReserveFailed>(desk, "slot.reserve.failed",
                              [desk](Transaction& tx, const golf::SlotReserveFailed& answer, const Cause& cause) {
                                desk->lifecycle->on_refused(tx, answer, cause);
                              });
  on<golf::SlotReleased>(desk, "slot.released",
                         [desk](Transaction& tx, const golf::SlotReleased& answer, const Cause& cause) {
                           desk->lifecycle->on_released(tx, answer, cause);
                         });
  on<golf::Slot>(desk, "slot.changed", [](Transaction& tx, const golf::Slot& slot, const Cause&) { learn(tx, slot); });
}

}  // namespace booking
