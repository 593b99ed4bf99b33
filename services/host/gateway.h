// Services of the booking system that run in other processes, shown by this one: every path of
// theirs, with its access and its documentation, answered by asking over NATS.
//
// Who calls is found out here, by the token; the services believe it (answering.h). What they
// have under /api stays with them: an operator asks each service.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/asking.h"
#include "http/router.h"
#include "http/story_paths.h"
#include "skald/env.h"

namespace skald::host {

class Gateway {
 public:
  // `services`: some of booking, course, notify. Adds their paths to `routes`; `asking`
  // outlives them.
  Gateway(Env env, Asking& asking, std::span<const std::string> services, http::Routes& routes);

  // Which of the services do not answer or are not ready, in words; empty: all are. Asks them,
  // each for at most a second.
  std::string missing() const;

  // Their parts in the story of a business key.
  std::vector<http::StorySource> stories() const;

 private:
  struct Service {
    std::string name;
    Asking::Ask ask;          // for a while
    Asking::Ask ask_briefly;
  };
  std::vector<Service> services_;
};

}  // namespace skald::host
