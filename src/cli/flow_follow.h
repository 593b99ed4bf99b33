// Commands that follow a stream of the server, also over its restarts: each time from behind the last event that was
// printed, so that nothing is lost and nothing is printed twice.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "cli/command.h"
#include "cli/event_reader.h"

namespace skald::cli {

// Hands over the events behind `last` until `hear` returns false or the stream ends. False: no server is there now.
// Refused where the server says no.
using Follow = std::function<bool(const std::string& path, const std::string& last, const EventReader::Hear& hear)>;

// skald flow watch: what happens to a workflow, a line for each event, until it is deleted. Unavailable
// (SERVER_UNREACHABLE) where the server stays away.
int run_flow_watch(const Arguments& arguments, const Follow& follow, const Wait& wait, std::ostream& out);

// skald flow logs --follow, by the stream of the work's output; as run_flow_logs() where the server has none.
int run_flow_follow(const Arguments& arguments, const Api& api, const Follow& follow, const Wait& wait,
                    std::ostream& out);

}  // namespace skald::cli
