#include "host/answering.h"

#include <utility>

#include "http/remote_call.h"

namespace skald::host {

std::string ask_subject(const std::string& service) {
  check_nats_name("the name of a service", service);
  return "skald.ask." + service;
}

Answering::Answering(Env env, const AnsweringOptions& options, const http::Routes& routes)
    : env_(env),
      options_(options),
      routes_(routes),
      responder_(env, options.nats, ask_subject(options.service), options.service,
                 [this](NatsQuestion question) { take(std::move(question)); }),
      loop_(
          env, "answers of " + options.service, [this] { return step(); },
          [this](Duration longest, runtime::Wakeup& wakeup) {
            const int fd = wakeup.fd();
            responder_.poll(longest, {&fd, 1});
            wakeup.clear();
          }),
      pool_(options.threads) {
  loop_.start();
}

Answering::~Answering() { ended_ = true; }

void Answering::stop(Duration grace) {
  retiring_ = true;
  loop_.wake();
  idle_.wait(grace);
  loop_.stop();
}

void Answering::take(NatsQuestion question) {
  if (open_ >= options_.open_max)
    throw Busy("NATS_BUSY", "the service " + options_.service + " has too much to do; ask again in a moment");
  ++open_;
  pool_.post([this, question = std::move(question), arrived = env_.clock.steady()]() mutable {
    work(std::move(question), arrived);
  });
}

void Answering::work(NatsQuestion question, Instant arrived) {
  Answered answered{std::move(question), {}};
  try {
    // Whoever asked has given up, and would not know that it happened after all.
    if (ended_ || env_.clock.steady() - arrived > options_.patience)
      throw Unavailable("NATS_TOO_LATE", "the service " + options_.service + " came to it too late, and left it");
    answered.body = answer(answered.question);
  } catch (...) {
    answered.error = write_nats_error();
  }
  {
    const std::lock_guard lock(mutex_);
    answered_.push_back(std::move(answered));
  }
  loop_.wake();
}

std::string Answering::answer(const NatsQuestion& question) const {
  Request request;
  try {
    request = http::read_call(question.body);
  } catch (const Invalid& error) {
    throw Unavailable("BAD_CALL", "the service " + options_.service + " does not understand the process that asks; " +
                                      "are they of one version? " + error.what());
  }
  const Caller caller = request.caller;
  return http::write_answer(routes_.dispatch_as(caller, std::move(request)));
}

Duration Answering::step() {
  std::deque<Answered> answered;
  {
    const std::lock_guard lock(mutex_);
    answered = std::exchange(answered_, {});
  }
  for (const Answered& one : answered) {
    if (one.error) responder_.fail(one.question, *one.error);
    else responder_.answer(one.question, one.body);
    --open_;
  }
  if (!retiring_) return 1h;
  responder_.retire();
  if (open_ == 0 && responder_.has_retired()) idle_.set();
  return 1ms;
}

}  // namespace skald::host
