#include "host/asking.h"

#include <atomic>
#include <memory>

#include "host/answering.h"
#include "http/problem.h"
#include "http/remote_call.h"
#include "skald/trace.h"

namespace skald::host {
namespace {

constexpr std::size_t kNewsMax = 10'000;

std::string lines_of(const std::deque<std::string>& topics) {
  std::string out;
  for (const std::string& topic : topics) out += topic + '\n';
  return out;
}

bool only_reads(const Request& request) { return request.method == "GET" || request.method == "HEAD"; }

// One of so many at once, while it lives.
class Share {
 public:
  Share(std::atomic<std::size_t>& taken, std::size_t most) : taken_(taken), got_(taken.fetch_add(1) < most) {}
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;
  ~Share() { --taken_; }
  bool got() const { return got_; }

 private:
  std::atomic<std::size_t>& taken_;
  const bool got_;
};

Response overloaded(const std::string& service, const Request& request) {
  return http::problem_response(
      {503, "OVERLOADED", "the service " + service + " has too much to do; send it again later", 1},
      request.request_id);
}

Response read_answer(const std::string& service, const std::string& answer) {
  try {
    return http::read_answer(answer);
  } catch (const Invalid& error) {
    throw CommitUnknown("BAD_ANSWER", "the service " + service + " answered what this process does not understand; " +
                                          "are they of one version? " + error.what());
  }
}

}  // namespace

Asking::Asking(Env env, AskingOptions options)
    : env_(env),
      options_(std::move(options)),
      requester_(env, options_.nats),
      loop_(
          env, "questions to other services", [this] { return step(); },
          [this](Duration longest, runtime::Wakeup& wakeup) {
            const int fd = wakeup.fd();
            requester_.poll(longest, {&fd, 1});
            wakeup.clear();
          }) {
  loop_.start();
}

Asking::~Asking() = default;

Asking::Ask Asking::remote_service(const std::string& name) { return remote_service(name, options_.timeout); }

Asking::Ask Asking::remote_service(const std::string& name, Duration timeout) {
  ask_subject(name);  // throws where it cannot be one
  const auto taken = std::make_shared<std::atomic<std::size_t>>(0);
  return [this, name, timeout, taken](const Request& request) {
    const Share share(*taken, options_.open_max);
    return share.got() ? ask(name, request, timeout) : overloaded(name, request);
  };
}

Response Asking::ask(const std::string& service, const Request& request, Duration timeout) {
  const std::string_view trace = http::trace_of(request);
  auto span = begin_span(env_, trace, Span::Kind::client, {"ask ", service});
  if (!span) return exchange(service, request, trace, timeout);
  try {
    Response response = exchange(service, request, span->traceparent(), timeout);
    span->attributes = {{"http.response.status_code", std::int64_t{response.status}}};
    if (response.status >= 500) end_failed_span(env_, *span, "answered " + std::to_string(response.status));
    else end_span(env_, *span);
    return response;
  } catch (const std::exception& error) {
    end_failed_span(env_, *span, error.what());
    throw;
  }
}

Response Asking::exchange(const std::string& service, const Request& request, std::string_view trace,
                          Duration timeout) {
  try {
    return read_answer(service, send(ask_subject(service), http::write_call(request, trace), timeout));
  } catch (const Busy& error) {
    if (error.code() != "NATS_BUSY") throw;
    return overloaded(service, request);
  } catch (const Forbidden& error) {  // we, not the caller
    throw Unavailable(error.code(), error.what());
  } catch (const Invalid& error) {
    if (error.code() != "NATS_TOO_LARGE") throw;
    return http::problem_response(
        {413, "BODY_TOO_LARGE", "this is too large to be carried to the service " + service + "; send less", {}},
        request.request_id);
  } catch (const CommitUnknown& error) {
    if (error.code() == "NATS_TOO_LARGE")
      return http::problem_response({500,
                                     "ANSWER_TOO_LARGE",
                                     "it is done, but the answer is too large to be carried; of a list ask for less, "
                                     "by limit",
                                     {}},
                                    request.request_id);
    if (only_reads(request)) throw Unavailable(error.code(), error.what());
    throw;
  }
}

std::string Asking::send(const std::string& subject, std::string body, Duration timeout) {
  Question question{subject, std::move(body), timeout, {}};
  auto answer = question.answer.get_future();
  {
    const std::lock_guard lock(mutex_);
    questions_.push_back(std::move(question));
  }
  loop_.wake();
  Told told;
  try {
    told = answer.get();
  } catch (const std::future_error&) {
    throw CommitUnknown("NATS_ANSWER_UNKNOWN", "this process ended before " + subject + " had answered");
  }
  if (told.error) std::rethrow_exception(read_nats_error(told.error->header, told.error->text));
  return std::move(told.body);
}

void Asking::tell_news(std::string_view topic) {
  {
    const std::lock_guard lock(mutex_);
    if (news_.size() >= kNewsMax) return;
    news_.emplace_back(topic);
  }
  loop_.wake();
}

Duration Asking::step() {
  std::deque<Question> questions;
  std::deque<std::string> news;
  {
    const std::lock_guard lock(mutex_);
    questions = std::exchange(questions_, {});
    news = std::exchange(news_, {});
  }
  for (Question& question : questions) put(std::move(question));
  if (!news.empty()) requester_.tell(std::string(kNewsSubject), lines_of(news));
  return 1h;
}

void Asking::put(Question question) {
  const auto promise = std::make_shared<std::promise<Told>>(std::move(question.answer));
  try {
    requester_.request(std::move(question.subject), std::move(question.body), question.timeout,
                       [promise](const NatsRequester::Answer& answer) {
                         Told told;
                         try {
                           told.body = answer.body();
                         } catch (const std::exception&) {
                           told.error = write_nats_error();
                         }
                         promise->set_value(std::move(told));
                       });
  } catch (const std::exception&) {
    promise->set_value({.body = {}, .error = write_nats_error()});
  }
}

}  // namespace skald::host
