// This process answers what others ask one of its services over NATS, by the same routes that
// answer HTTP.
//
// Whoever may publish on the subject is believed about who the caller is: the NATS server must
// let nobody else do so (docs/deploying.md).
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "bus/nats/request_reply.h"
#include "http/router.h"
#include "runtime/loop.h"
#include "runtime/worker_pool.h"
#include "skald/env.h"

namespace skald::host {

// "skald.ask.booking". Processes of one service share the questions.
std::string ask_subject(const std::string& service);

struct AnsweringOptions {
  NatsOptions nats;
  std::string service;
  std::size_t threads = 16;
  std::size_t open_max = 256;  // questions under way; further ones are Busy (NATS_BUSY)
  Duration patience = 5s;      // of those who ask: what waited longer for a thread is left undone
};

class Answering {
 public:
  // Answers from here on. `routes` and what `env` refers to outlive it. Invalid (NATS_…).
  Answering(Env env, const AnsweringOptions& options, const http::Routes& routes);
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;
  ~Answering();  // what no thread has begun is left undone

  // Leaves new questions to the service's other processes, and answers those that it has, for
  // up to `grace`.
  void stop(Duration grace);

 private:
  struct Answered {
    NatsQuestion question;
    std::string body;
    std::optional<NatsError> error = {};
  };

  void take(NatsQuestion question);
  void work(NatsQuestion question, Instant arrived);
  std::string answer(const NatsQuestion& question) const;
  Duration step();

  const Env env_;
  const AnsweringOptions options_;
  const http::Routes& routes_;
  std::atomic<bool> retiring_ = false, ended_ = false;
  std::atomic<std::size_t> open_ = 0;
  runtime::Wakeup idle_;  // retired, and all is answered
  std::mutex mutex_;      // guards answered_
  std::deque<Answered> answered_;
  NatsResponder responder_;  // in the loop's thread
  runtime::Loop loop_;
  runtime::WorkerPool pool_;  // last: its threads use the others
};

}  // namespace skald::host
