// A connection to NATS that is made again for ever, driven by poll().
//
// One session is one connection to one run of one server: the library never
// reconnects behind our back, so that nothing is published to another server
// than the one that `up` was told of. What was asked in a session is answered in
// it, or ends with it as `lost`.
//
// Not thread safe. All handlers and answers are called from inside of poll(),
// and must not throw; request() and publish() are for them.
#pragma once

#include <nats/nats.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bus/nats/mailbox.h"
#include "bus/nats/options.h"
#include "skald/env.h"

namespace skald {

struct NatsReply {
  enum class Kind {
    answer,
    nobody,   // no one listens there: it was not received
    silence,  // no answer in time: what became of it is not known
    lost,     // the connection broke: the same
    denied,   // the server does not let us publish there
  };
  Kind kind = Kind::answer;
  NatsMessage message = {};
};

class NatsLink {
 public:
  struct Handlers {
    std::function<void()> up;                     // a new session; before anything else in it
    std::function<void()> down;                   // it ended; what was asked has been answered
    std::function<void(NatsMessage)> message = {};  // that answers no request
  };
  // One poll() hands out at most this many, so that a caller with a deadline (a
  // heartbeat) comes back to its loop.
  static constexpr std::size_t kPerPoll = 1024;
  using Answer = std::function<void(NatsReply)>;
  using Headers = std::vector<std::pair<const char*, std::string>>;
  enum class Sent { yes, too_large, no };  // `no`: not connected (any more)

  // Connects in the first poll(). Throws Invalid for options that cannot work.
  NatsLink(const Env& env, const NatsOptions& options, Handlers handlers);
  ~NatsLink();
  NatsLink(const NatsLink&) = delete;
  NatsLink& operator=(const NatsLink&) = delete;

  bool is_up() const { return up_; }
  // Changes at every start of the server. Empty before the first connection.
  const std::string& server_id() const { return server_id_; }
  // A sentence about why it is not up, without secrets.
  std::string why_down() const;

  // `answer` is called exactly once if this says `yes`, and never otherwise.
  Sent request(const std::string& subject, const Headers& headers, std::string_view body, Duration timeout,
               Answer answer);
  Sent publish(const std::string& subject, const Headers& headers, std::string_view body,
               const std::string& reply = {});
  // Until the session ends. With a group, one of its members gets each message.
  bool subscribe(const std::string& subject, const std::string& group = {});
  // Ends what was subscribed to by that name. What the server has sent before comes still.
  void unsubscribe(const std::string& subject);
  // Ends what was subscribed to. What the server has sent before comes still, until
  // has_drained().
  void drain();
  bool has_drained() const;
  // Messages published with this as their reply come to Handlers::message.
  std::string inbox(std::string_view name) const { return inbox_ + ".m." + std::string(name); }

  // Ends the session, as if the connection had broken.
  void hang_up(std::string why);

  void poll(Duration wait, std::span<const int> wake);

 private:
  struct FreeConnection {
    void operator()(natsConnection* connection) const { natsConnection_Destroy(connection); }
  };
  struct FreeSubscription {
    void operator()(natsSubscription* subscription) const { natsSubscription_Destroy(subscription); }
  };
  struct Asked {
    Instant deadline;
    std::string subject;
    Answer answer;
  };

  void open();
  natsStatus connect(bool in_background);
  void begin();
  void end(std::string why);
  void handle(NatsMailbox::Entry entry);
  void handle_message(NatsMessage message);
  void handle_denial(const std::string& text);
  void answer(std::uint64_t token, NatsReply reply);
  void expire();

  Env env_;
  const NatsOptions options_;
  const Handlers handlers_;
  NatsOptionsHandle settings_;
  std::shared_ptr<NatsMailbox> mailbox_;

  std::uintptr_t session_ = 0;
  std::unique_ptr<natsConnection, FreeConnection> connection_;
  struct Subscribed {
    std::string subject;
    std::unique_ptr<natsSubscription, FreeSubscription> subscription;
  };
  std::vector<Subscribed> subscriptions_;  // the first is our inbox, for answers
  bool up_ = false;
  std::string server_id_;
  std::string inbox_;
  std::string why_ = "it was not tried yet";
  Instant open_at_{};
  int attempts_ = 0;

  std::uint64_t last_token_ = 0;
  std::map<std::uint64_t, Asked> asked_;
  std::set<std::pair<Instant, std::uint64_t>> deadlines_;
};

}  // namespace skald
