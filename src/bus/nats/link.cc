#include "bus/nats/link.h"

#include <algorithm>
#include <charconv>
#include <new>

#include "base/text.h"
#include "skald/error.h"
#include "skald/id.h"

namespace skald {
namespace {

using Kind = NatsMailbox::Kind;

// Callbacks of the library's threads; the closure is the session's number.
void put(void* session, Kind kind, std::string text, NatsMessage message = {}) {
  const auto number = reinterpret_cast<std::uintptr_t>(session);
  if (const auto mailbox = NatsMailbox::of_session(number))
    mailbox->put({number, kind, std::move(text), std::move(message)});
}

std::string last_error(natsConnection* connection) {
  const char* text = nullptr;
  const natsStatus status = natsConnection_GetLastError(connection, &text);
  std::string out = text == nullptr ? "" : text;
  if (out.empty() && status != NATS_OK) out = natsStatus_GetText(status);
  return cut_text(out, 200);
}

void on_connected(natsConnection*, void* session) { put(session, Kind::up, {}); }
void on_closed(natsConnection* connection, void* session) { put(session, Kind::down, last_error(connection)); }
void on_error(natsConnection* connection, natsSubscription*, natsStatus, void* session) {
  put(session, Kind::error, last_error(connection));
}
void on_message(natsConnection*, natsSubscription*, natsMsg* message, void* session) {
  put(session, Kind::message, {}, NatsMessage(message));
}
std::int64_t on_reconnect_delay(natsConnection*, int attempts, void* session) {
  const auto mailbox = NatsMailbox::of_session(reinterpret_cast<std::uintptr_t>(session));
  return mailbox ? mailbox->pause(attempts).count() : 0;
}

struct FreeMessage {
  void operator()(natsMsg* message) const { discard(message); }
};

}  // namespace

NatsLink::NatsLink(const Env& env, const NatsOptions& options, Handlers handlers)
    : env_(env),
      options_(options),
      handlers_(std::move(handlers)),
      settings_(make_nats_options(options)),
      mailbox_(std::make_shared<NatsMailbox>(env, options.reconnect_min, options.reconnect_max)),
      open_at_(env.clock.steady()) {}

NatsLink::~NatsLink() {
  NatsMailbox::end_session(session_);
  subscriptions_.clear();
}

std::string NatsLink::why_down() const {
  std::string why = why_;
  if (connection_ && !up_) {
    if (const std::string now = last_error(connection_.get()); !now.empty()) why = now;
  }
  std::string out = "NATS at " + nats_hosts(options_) + " cannot be used: " + why;
  if (why.find("uthoriz") != why.npos || why.find("uthentic") != why.npos)
    out += "; check the user, token, credentials file or nkey that this program was given";
  return cut_text(out, 500);
}

// The first attempt is ours, because it tells why it failed. A server that cannot
// be reached is then looked for by a thread of the library, until it is connected
// for the first time (the library's "reconnect" is off): then `up` comes, and with
// the connection's end `down`.
void NatsLink::open() {
  session_ = NatsMailbox::begin_session(mailbox_);
  natsStatus status = connect(false);
  if (status == NATS_NO_SERVER || status == NATS_TIMEOUT) status = connect(true);
  if (status == NATS_OK) return begin();
  if (status == NATS_NOT_YET_CONNECTED) return;
  const char* text = nats_GetLastError(nullptr);
  end(text == nullptr ? natsStatus_GetText(status) : cut_text(text, 200));
}

natsStatus NatsLink::connect(bool in_background) {
  void* const closure = reinterpret_cast<void*>(session_);
  natsOptions* const settings = settings_.get();
  natsConnection* created = nullptr;
  natsStatus status = natsOptions_SetAllowReconnect(settings, false);
  if (status == NATS_OK) status = natsOptions_SetMaxReconnect(settings, -1);
  if (status == NATS_OK)
    status =
        natsOptions_SetRetryOnFailedConnect(settings, in_background, in_background ? on_connected : nullptr, closure);
  if (status == NATS_OK) status = natsOptions_SetCustomReconnectDelay(settings, on_reconnect_delay, closure);
  if (status == NATS_OK) status = natsOptions_SetClosedCB(settings, on_closed, closure);
  if (status == NATS_OK) status = natsOptions_SetErrorHandler(settings, on_error, closure);
  if (status == NATS_OK) status = natsConnection_Connect(&created, settings);
  connection_.reset(created);
  return status;
}

void NatsLink::begin() {
  char id[128] = "";
  inbox_ = "_INBOX." + make_id(env_.clock.now(), env_.random);
  if (natsConnection_GetConnectedServerId(connection_.get(), id, sizeof id) != NATS_OK || !subscribe(inbox_ + ".>"))
    return end("the connection broke while it was made");
  server_id_ = id;
  up_ = true;
  attempts_ = 0;
  handlers_.up();
}

void NatsLink::end(std::string why) {
  if (session_ == 0) return;
  NatsMailbox::end_session(session_);
  session_ = 0;
  subscriptions_.clear();
  connection_.reset();
  why_ = why.empty() ? "the connection broke" : std::move(why);
  open_at_ = env_.clock.steady() + mailbox_->pause(++attempts_);
  if (!std::exchange(up_, false)) return;
  deadlines_.clear();
  for (auto& [token, asked] : std::exchange(asked_, {})) asked.answer({NatsReply::Kind::lost});
  handlers_.down();
}

void NatsLink::hang_up(std::string why) { end(std::move(why)); }

bool NatsLink::subscribe(const std::string& subject, const std::string& group) {
  natsSubscription* created = nullptr;
  void* const closure = reinterpret_cast<void*>(session_);
  const natsStatus status =
      group.empty() ? natsConnection_Subscribe(&created, connection_.get(), subject.c_str(), on_message, closure)
                    : natsConnection_QueueSubscribe(&created, connection_.get(), subject.c_str(), group.c_str(),
                                                    on_message, closure);
  if (status != NATS_OK) return false;
  subscriptions_.push_back({subject, std::unique_ptr<natsSubscription, FreeSubscription>(created)});
  return true;
}

void NatsLink::unsubscribe(const std::string& subject) {
  std::erase_if(subscriptions_, [&](const Subscribed& one) { return one.subject == subject; });
}

void NatsLink::drain() {
  for (std::size_t i = 1; i < subscriptions_.size(); ++i) natsSubscription_Drain(subscriptions_[i].subscription.get());
}

bool NatsLink::has_drained() const {
  for (std::size_t i = 1; i < subscriptions_.size(); ++i)
    if (natsSubscription_DrainCompletionStatus(subscriptions_[i].subscription.get()) == NATS_ILLEGAL_STATE)
      return false;
  return mailbox_->is_empty();
}

NatsLink::Sent NatsLink::publish(const std::string& subject, const Headers& headers, std::string_view body,
                                 const std::string& reply) {
  if (!up_) return Sent::no;
  natsMsg* created = nullptr;
  natsStatus status = natsMsg_Create(&created, subject.c_str(), reply.empty() ? nullptr : reply.c_str(), body.data(),
                                     static_cast<int>(body.size()));
  const std::unique_ptr<natsMsg, FreeMessage> message(created);
  for (const auto& [name, value] : headers)
    if (status == NATS_OK) status = natsMsgHeader_Set(created, name, value.c_str());
  if (status == NATS_NO_MEMORY) throw std::bad_alloc();
  if (status == NATS_OK) status = natsConnection_PublishMsg(connection_.get(), created);
  if (status == NATS_OK) return Sent::yes;
  if (status == NATS_MAX_PAYLOAD) return Sent::too_large;
  // It may have been written in part: this connection cannot be used again. Its
  // end is told of by poll(), since the caller is in the middle of something.
  mailbox_->put({session_, Kind::down, natsStatus_GetText(status)});
  return Sent::no;
}

NatsLink::Sent NatsLink::request(const std::string& subject, const Headers& headers, std::string_view body,
                                 Duration timeout, Answer answer) {
  const std::uint64_t token = ++last_token_;
  const Sent sent = publish(subject, headers, body, inbox_ + "." + std::to_string(token));
  if (sent != Sent::yes) return sent;
  const Instant deadline = env_.clock.steady() + timeout;
  asked_.emplace(token, Asked{deadline, subject, std::move(answer)});
  deadlines_.emplace(deadline, token);
  return sent;
}

void NatsLink::poll(Duration wait, std::span<const int> wake) {
  const Instant now = env_.clock.steady();
  if (session_ == 0 && open_at_ <= now) open();
  Instant until = now + std::clamp<Duration>(wait, 0us, 24h);
  if (session_ == 0) until = std::min(until, open_at_);
  if (!deadlines_.empty()) until = std::min(until, deadlines_.begin()->first);
  mailbox_->wait(until - now, wake);
  for (std::size_t left = kPerPoll; left > 0; --left) {
    auto entry = mailbox_->take();
    if (!entry) break;
    if (entry->session == session_) handle(std::move(*entry));
  }
  expire();
}

void NatsLink::handle(NatsMailbox::Entry entry) {
  switch (entry.kind) {
    case Kind::up: return begin();
    case Kind::down: return end(std::move(entry.text));
    case Kind::error: return handle_denial(entry.text);
    case Kind::message: return handle_message(std::move(entry.message));
  }
}

void NatsLink::handle_message(NatsMessage message) {
  const std::string_view subject = message.subject();
  if (subject.starts_with(inbox_) && subject.size() > inbox_.size() + 1) {
    std::uint64_t token = 0;
    const char* const end = subject.data() + subject.size();
    if (std::from_chars(subject.data() + inbox_.size() + 1, end, token).ptr == end) {
      const auto kind = message.no_responders() ? NatsReply::Kind::nobody : NatsReply::Kind::answer;
      return answer(token, {kind, std::move(message)});
    }
  }
  if (handlers_.message) handlers_.message(std::move(message));
}

// The server names the subject, not the message: everything under way to that
// subject was denied alike.
void NatsLink::handle_denial(const std::string& text) {
  if (text.find("ermissions") == text.npos) return;
  std::vector<std::uint64_t> denied;
  for (const auto& [token, asked] : asked_)
    if (text.find("\"" + asked.subject + "\"") != text.npos) denied.push_back(token);
  for (const std::uint64_t token : denied) answer(token, {NatsReply::Kind::denied});
}

// A late answer finds nobody and is forgotten: its asker was told that it is not known.
void NatsLink::answer(std::uint64_t token, NatsReply reply) {
  const auto found = asked_.find(token);
  if (found == asked_.end()) return;
  const Asked asked = std::move(found->second);
  asked_.erase(found);
  deadlines_.erase({asked.deadline, token});
  asked.answer(std::move(reply));
}

void NatsLink::expire() {
  const Instant now = env_.clock.steady();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now)
    answer(deadlines_.begin()->second, {NatsReply::Kind::silence});
}

}  // namespace skald
