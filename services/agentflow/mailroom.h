// What agents have put into their mailboxes, as events: each once, under an id of its own (`agent-said/RUN/N`), keyed by
// the work, in the order of its number. What is no request is told once in the log and passed over.
//
// Used by one thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agentflow/mailbox.h"
#include "skald/bus.h"
#include "skald/env.h"

namespace agentflow {

class Mailroom {
 public:
  // The space that the runs of a work have; none: there is no such work any more.
  using SpaceOf = std::function<std::optional<std::string>(const std::string& work_id)>;
  // What a run was given in confidence: it is *** in all that it says.
  using SecretsOf = std::function<std::vector<std::string>(const std::string& run)>;
  Mailroom(skald::Env env, SpaceOf space_of, SecretsOf secrets_of);
  ~Mailroom();
  Mailroom(const Mailroom&) = delete;
  Mailroom& operator=(const Mailroom&) = delete;

  struct Mail {
    std::vector<skald::Message> messages = {};  // empty: there is nothing new
    int next = 1;  // what taken() is to be told when they are kept
  };
  // The next ones of that run, at most `messages_max`, again and again until they are taken().
  Mail collect(const std::string& run, const std::string& work_id, std::size_t messages_max);
  void taken(const std::string& run, int next);
  void forget(const std::string& run);
  // Readable when something has come (inotify); -1: it cannot be told. drain() makes it unreadable again.
  int fd() const { return watch_; }
  void drain();

 private:
  struct Box {
    std::string space;
    std::optional<Mailbox> mailbox = {};
    int next = 1;
    int told = 0;  // the last one that the log has
    int mark = -1;  // of inotify
  };
  Box* open(const std::string& run, const std::string& work_id);
  skald::Message said(const std::string& run, const std::string& work_id, int n, const AgentRequest& request) const;

  skald::Env env_;
  SpaceOf space_of_;
  SecretsOf secrets_of_;
  int watch_;
  std::map<std::string, Box> boxes_;  // by run
};

}  // namespace agentflow
