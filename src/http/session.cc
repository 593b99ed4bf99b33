// A connection that carries requests, one after the other: read, hand to a
// worker, answer, again. With request_head.cc the one source that includes Beast.
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include "http/connection.h"
#include "http/date.h"
#include "http/request_head.h"

namespace skald::http {
namespace {

namespace beast = boost::beast::http;

constexpr Duration kLinger = 2s;
constexpr std::size_t kLingerBytesMax = 64 * 1024 * 1024;
constexpr std::size_t kBufferSlack = 16 * 1024;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

class Session final : public Connection, public std::enable_shared_from_this<Session> {
 public:
  Session(Core& core, Socket socket, std::string peer)
      : Connection(std::move(peer)),
        core_(core),
        socket_(std::move(socket)),
        deadline_(core.io),
        buffer_(core.options.header_bytes_max + kBufferSlack) {}

  void start() {
    Failure failure;
    socket_.set_option(boost::asio::ip::tcp::no_delay(true), failure);
    const auto local = socket_.local_endpoint(failure);
    if (failure) return close();  // gone already
    local_address_ = local.address().to_string();
    await_request(core_.options.header_timeout);
  }

  void wind_down() override {
    if (phase_ == Phase::idle) close();
  }

  void close() override {
    if (phase_ == Phase::closed) return;
    leave();
    Failure ignored;  // it is going away, whatever the socket says
    socket_.close(ignored);
  }

 private:
  enum class Phase { idle, reading, handling, writing, lingering, closed };

  // What a worker runs. The session goes before the core that its socket needs.
  // The worker alone touches passage_ from here until answered().
  struct Work {
    std::shared_ptr<Core> core;
    std::shared_ptr<Session> session;

    void operator()() {
      core->waiting.fetch_sub(1);
      Reply reply = core->routes.answer(std::move(session->passage_));
      boost::asio::post(core->io, [session = std::move(session), reply = std::move(reply)]() mutable {
        session->answered(std::move(reply));
      });
    }
  };

  void await_request(Duration patience) {
    phase_ = Phase::idle;
    if (core_.stopping) return close();
    if (buffer_.size() > 0) return read_header();
    set_deadline(patience);
    socket_.async_wait(Socket::wait_read, [self = shared_from_this()](Failure failure) {
      if (self->phase_ != Phase::idle) return;
      if (failure) return self->close();
      self->read_header();
    });
  }

  void read_header() {
    phase_ = Phase::reading;
    passage_ = {};
    subject_.clear();
    is_head_ = false;
    keep_alive_ = true;
    chunks_allowed_ = true;
    timed_out_ = false;
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(core_.options.header_bytes_max));
    parser_->body_limit(core_.options.body_bytes_max);
    set_deadline(core_.options.header_timeout);
    beast::async_read_header(socket_, buffer_, *parser_, [self = shared_from_this()](Failure failure, std::size_t) {
      if (self->phase_ == Phase::closed) return;
      if (failure) return self->read_failed(failure);
      self->check_header();
    });
  }

  void check_header() {
    take_header();
    if (const auto problem = framing_problem(*parser_)) return refuse(*problem);
    if (const auto problem = core_.guard->check(request().header("host"), request().header("origin"), local_address_))
      return refuse(*problem);
    if (parser_->is_done()) return submit();
    // Who may not send it does not get to send its body either.
    if (auto refusal = core_.routes.admit(passage_)) {
      keep_alive_ = false;
      return respond(std::move(*refusal));
    }
    subject_ = holder_of(request().caller);
    set_deadline(core_.options.body_timeout);
    if (lower_case(request().header("expect")) != "100-continue") return read_body();
    boost::asio::async_write(socket_, boost::asio::buffer(kContinue),
                             [self = shared_from_this()](Failure failure, std::size_t) {
                               if (self->phase_ == Phase::closed) return;
                               if (failure) return self->read_failed(failure);
                               self->read_body();
                             });
  }

  void take_header() {
    take_head(*parser_, request());
    request().peer = peer();
    is_head_ = request().method == "HEAD";
    keep_alive_ = parser_->get().keep_alive();
    chunks_allowed_ = parser_->get().version() >= 11;
  }

  void read_body() {
    beast::async_read_some(socket_, buffer_, *parser_, [self = shared_from_this()](Failure failure, std::size_t) {
      if (self->phase_ == Phase::closed) return;
      if (failure) return self->read_failed(failure);
      if (const auto problem = self->hold_body(self->parser_->get().body().size())) return self->refuse(*problem);
      if (self->parser_->is_done()) return self->submit();
      self->read_body();
    });
  }

  // Counts what has come of the body. What was only announced costs nobody anything.
  std::optional<Problem> hold_body(std::size_t bytes) {
    const ServerOptions& options = core_.options;
    const std::size_t more = bytes - body_bytes_;
    if (core_.body_bytes + more > options.bodies_bytes_max)
      return Problem{503, "OVERLOADED", "too many large requests are under way; send it again later", 1};
    if (core_.peer_bodies.held(peer()) + more > options.peer_bodies_bytes_max() ||
        core_.subject_bodies.held(subject_) + more > options.subject_bodies_bytes_max)
      return Problem{429, "TOO_MUCH_AT_ONCE", "too many large requests of yours are under way; wait for their answers",
                     1};
    core_.body_bytes += more;
    core_.peer_bodies.add(peer(), more);
    core_.subject_bodies.add(subject_, more);
    body_bytes_ = bytes;
    return std::nullopt;
  }

  void read_failed(Failure failure) {
    if (timed_out_) return refuse({408, "REQUEST_TIMEOUT", "the request did not come within its time", {}});
    if (failure == beast::error::end_of_stream) return close();
    if (failure == beast::error::header_limit || failure == beast::error::buffer_overflow)
      return refuse({431,
                     "HEADER_TOO_LARGE",
                     "request line and headers may be " + std::to_string(core_.options.header_bytes_max) + " bytes",
                     {}});
    if (failure == beast::error::body_limit) {
      if (request().method.empty()) take_header();  // its length alone was too large
      return refuse(
          {413, "BODY_TOO_LARGE", "a body may be " + std::to_string(core_.options.body_bytes_max) + " bytes", {}});
    }
    if (failure.category() == Failure(beast::error::bad_method).category())
      return refuse({400, "MALFORMED_REQUEST", "this is not HTTP/1.1: " + failure.message(), {}});
    close();
  }

  void submit() {
    request().body = std::move(parser_->get().body());
    parser_.reset();
    if (core_.waiting.load() >= core_.options.waiting_max) {
      return respond(core_.routes.refuse(std::move(passage_),
                                         {503, "OVERLOADED", "too many requests are waiting; send it again later", 1}));
    }
    phase_ = Phase::handling;
    deadline_.cancel();
    core_.waiting.fetch_add(1);
    core_.post(Work{core_.shared_from_this(), shared_from_this()});
  }

  void answered(Reply reply) {
    if (phase_ == Phase::closed) return;
    release_body();  // it went with its request
    if (!reply.stream || is_head_) return respond(std::move(reply.response));
    if (core_.stopping || core_.streams >= core_.options.streams_max)
      return respond(
          core_.routes.refuse({}, {503, "TOO_MANY_STREAMS", "too many event streams are open; try again later", 5}));
    if (core_.subject_streams.held(reply.holder) >= core_.options.streams_per_subject)
      return respond(core_.routes.refuse(
          {}, {429, "TOO_MANY_OWN_STREAMS", "too many event streams of yours are open; close one of them first", 5}));
    std::string head = chunks_allowed_ ? "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n" : "HTTP/1.0 200 OK\r\n";
    head += "date: " + http_date(core_.env.clock.now()) + "\r\nconnection: close\r\n";
    head += "content-type: " + reply.response.content_type + "\r\n";
    for (const auto& [name, value] : reply.response.headers) head += name + ": " + value + "\r\n";
    leave();
    start_event_stream(
        core_, std::move(socket_),
        {std::move(*reply.stream), head + "\r\n", chunks_allowed_, peer(), std::move(reply.holder), reply.until});
  }

  // Answers a request that was not read to its end: nothing after it can be trusted.
  void refuse(const Problem& problem) {
    keep_alive_ = false;
    parser_.reset();  // and with it what has come of the body: others wait for that room
    release_body();
    respond(core_.routes.refuse(std::move(passage_), problem));
  }

  void respond(Response response) {
    phase_ = Phase::writing;
    if (core_.stopping) keep_alive_ = false;
    message_.emplace();
    message_->version(chunks_allowed_ ? 11 : 10);
    message_->result(static_cast<unsigned>(response.status));
    if (const auto title = status_title(response.status); !title.empty()) message_->reason(title);
    message_->set(beast::field::date, http_date(core_.env.clock.now()));
    for (const auto& [name, value] : response.headers) message_->set(name, value);
    message_->keep_alive(keep_alive_);
    if (response.status != 204 && response.status != 304) {
      message_->set(beast::field::content_type, response.content_type);
      message_->content_length(response.body.size());
      if (!is_head_) message_->body() = std::move(response.body);
    }
    set_deadline(core_.options.body_timeout);
    beast::async_write(socket_, *message_, [self = shared_from_this()](Failure failure, std::size_t) {
      if (self->phase_ == Phase::closed) return;
      if (failure) return self->close();
      self->answer_sent();
    });
  }

  void answer_sent() {
    message_.reset();
    release_body();
    if (keep_alive_) return await_request(core_.options.idle_timeout);
    // Closing with unread bytes would reset the connection and could take the
    // answer with it: say that this is the end, and read on for a moment.
    phase_ = Phase::lingering;
    parser_.reset();
    Failure failure;
    socket_.shutdown(Socket::shutdown_send, failure);
    if (failure) return close();
    set_deadline(kLinger);
    linger(0);
  }

  void linger(std::size_t seen) {
    socket_.async_read_some(boost::asio::buffer(discarded_),
                            [self = shared_from_this(), seen](Failure failure, std::size_t size) {
                              if (self->phase_ == Phase::closed) return;
                              if (failure || seen + size > kLingerBytesMax) return self->close();
                              self->linger(seen + size);
                            });
  }

  void set_deadline(Duration after) {
    deadline_.set(after, [self = shared_from_this()] { self->expire(); });
  }

  // Cancelling misses a read that has just got its bytes and goes on to the next
  // one; that one meets the second deadline.
  void expire() {
    if (phase_ != Phase::reading || timed_out_) return close();
    timed_out_ = true;
    set_deadline(kLinger);
    Failure ignored;  // a socket that cannot be cancelled fails its reads by itself
    socket_.cancel(ignored);
  }

  Request& request() { return passage_.request; }

  void release_body() {
    const std::size_t bytes = std::exchange(body_bytes_, 0);
    core_.body_bytes -= bytes;
    core_.peer_bodies.remove(peer(), bytes);
    core_.subject_bodies.remove(subject_, bytes);
  }

  void leave() {
    phase_ = Phase::closed;
    deadline_.cancel();
    release_body();
    core_.forget(shared_from_this());
  }

  Core& core_;
  Socket socket_;
  Deadline deadline_;
  boost::beast::flat_buffer buffer_;
  std::optional<RequestParser> parser_;
  std::optional<beast::response<beast::string_body>> message_;
  std::string local_address_;
  Passage passage_;
  std::string subject_;         // whose body it is
  std::size_t body_bytes_ = 0;  // of it, that have come
  Phase phase_ = Phase::idle;
  bool is_head_ = false, keep_alive_ = true, chunks_allowed_ = true, timed_out_ = false;
  std::array<char, 4096> discarded_;
};

}  // namespace

void start_session(Core& core, Socket socket, std::string peer) {
  const auto session = std::make_shared<Session>(core, std::move(socket), std::move(peer));
  core.keep(session);
  session->start();
}

}  // namespace skald::http
