#include "notify/news.h"
#include "notify/notify.h"
#include "notify/paths.h"

namespace notify {

void install(skald::Engine& engine, skald::Router& router, skald::Env env, const Options& options) {
  engine.database().migrate("notify", migrations());
  const Channel channel = options.webhook != nullptr ? Channel::webhook : Channel::log;
  // One consumer for all three: its name is in the dedupe records.
  engine.consume({.name = "notify", .type = "booking.*", .handle = [env, channel](auto& tx, const auto& message) {
                    tell(env, channel, tx, message);
                  }});
  if (options.webhook != nullptr) engine.route({.type = std::string(kSent), .bus = options.webhook});
  add_paths(engine.database(), router);
  add_story(engine);
}

}  // namespace notify
