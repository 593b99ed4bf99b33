#include "course/saga_line.h"

namespace course {

void SagaLine::show(const golf::Slot& slot) {
  status = slot.status;
  booked = slot.booked_players;
  max = slot.max_players;
  version = slot.version;
}

std::string SagaLine::fields() const {
  const std::string object = skald::to_json(*this);
  return object.substr(1, object.size() - 2);
}

void tell_at_commit(skald::Transaction& tx, skald::Env env, const StepEnd& end, SagaLine line, skald::Instant begun) {
  const skald::Duration took = env.clock.steady() - begun;
  line.micros = took.count();
  tx.after_commit([env, end, took, fields = line.fields()] {
    env.observer.count(end.metric);
    env.observer.timing(end.timing, took);
    env.observer.log(skald::Observer::Level::info, end.message, fields);
  });
}

}  // namespace course
