// This process asks services of other processes over NATS (see answering.h).
#pragma once

#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bus/nats/request_reply.h"
#include "runtime/loop.h"
#include "skald/env.h"
#include "skald/http.h"

namespace skald::host {

// Where processes say whose event streams have something new: the topic is the body.
inline constexpr std::string_view kNewsSubject = "skald.news";

struct AskingOptions {
  NatsOptions nats;
  Duration timeout = 5s;
  // Questions to one service under way: the threads that ask wait, and some must be left for
  // the other services.
  std::size_t open_max = 32;
};

// Thread safe; one thread of its own does the network.
class Asking {
 public:
  using Ask = std::function<Response(const Request&)>;

  // Invalid (NATS_…) for options that cannot work. Connects by itself, and again for ever.
  Asking(Env env, AskingOptions options);
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking();  // after the last question is answered

  // Asks the service of that name as the request's caller, and waits for the answer. Refusals
  // by the service are answers, and so is what cannot be carried (413) or is too much at once
  // (503). Throws
  //   Unavailable    nobody answers: nothing happened (to a GET nothing ever does);
  //   CommitUnknown  no answer in time: it may have happened; send it again with its key.
  // Not after this is gone.
  Ask remote_service(const std::string& name);
  Ask remote_service(const std::string& name, Duration timeout);

  // Tells every process that the streams of a topic have something new. Returns at once; may
  // be lost: streams look again each second.
  void tell_news(std::string_view topic);

 private:
  // Errors go from thread to thread as text.
  struct Told {
    std::string body;
    std::optional<NatsError> error = {};
  };
  struct Question {
    std::string subject, body;
    Duration timeout;
    std::promise<Told> answer;
  };

  Response ask(const std::string& service, const Request& request, Duration timeout);
  Response exchange(const std::string& service, const Request& request, std::string_view trace, Duration timeout);
  std::string send(const std::string& subject, std::string body, Duration timeout);
  Duration step();
  void put(Question question);

  const Env env_;
  const AskingOptions options_;
  std::mutex mutex_;  // guards the next two
  std::deque<Question> questions_;
  std::deque<std::string> news_;
  NatsRequester requester_;  // in the loop's thread
  runtime::Loop loop_;       // last: its thread uses the others
};

}  // namespace skald::host
