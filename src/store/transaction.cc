#include "skald/database.h"
#include "skald/id.h"

namespace skald {

std::string Transaction::emit(Event event) {
  if (event.type.empty() || event.key.empty())
    throw Invalid("INVALID_EVENT", "an event needs a type and a key: give both to emit()");
  if (event.id.empty()) event.id = make_id(env_.clock.now(), env_.random);
  if (event.traceparent.empty()) event.traceparent = traceparent_;
  events_.push_back(std::move(event));
  return events_.back().id;
}

}  // namespace skald
