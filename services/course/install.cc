#include "course/course.h"
#include "course/invariants.h"
#include "course/paths.h"
#include "course/saga_handler.h"

namespace course {

void install(skald::Engine& engine, skald::Router& router, skald::Env env, Options options) {
  engine.database().migrate("course", migrations());
  const auto handler = std::make_shared<const SagaHandler>(env, std::move(options.pause), options.lock_tries);
  engine.consume({.name = "course.reserve", .type = "slot.reserve", .handle = [handler](auto& tx, const auto& message) {
                    handler->reserve(tx, message);
                  }});
  engine.consume({.name = "course.release", .type = "slot.release", .handle = [handler](auto& tx, const auto& message) {
                    handler->release(tx, message);
                  }});
  add_course_paths(engine.database(), router, env);
  add_slot_paths(engine.database(), router, env);
  add_reservation_paths(engine.database(), router);
  add_story(engine);
  add_invariants(engine.database(), router);
}

}  // namespace course
