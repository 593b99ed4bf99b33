// A connection that has become a server-sent event stream.
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "http/connection.h"

namespace skald::http {
namespace {

// Tells browsers how soon to come back after a cut, in milliseconds.
constexpr std::string_view kRetry = "retry: 2000\n\n";
constexpr std::string_view kHeartbeat = ":\n\n";

std::string chunk(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string size;
  for (std::size_t left = text.size(); left != 0; left >>= 4) size.insert(size.begin(), digits[left & 15]);
  return size + "\r\n" + std::string(text) + "\r\n";
}

// One thing at a time: asking `next` on a worker, or writing what it gave. A
// wake-up meanwhile sets `woken_`; it is cleared before `next` is asked, so that
// nothing published during the asking is missed.
class EventStream final : public Connection, public std::enable_shared_from_this<EventStream> {
 public:
  EventStream(Core& core, Socket socket, Opening opening)
      : Connection(std::move(opening.peer)),
        core_(core),
        socket_(std::move(socket)),
        stream_(std::move(opening.stream)),
        chunked_(opening.chunked),
        holder_(std::move(opening.holder)),
        until_(opening.until),
        write_deadline_(core.io),
        heartbeat_(core.io),
        signalled_(std::make_shared<std::atomic<bool>>(false)) {}

  void start(std::string head) {
    ++core_.streams;
    core_.subject_streams.add(holder_, 1);
    core_.env.observer.gauge("http_streams", static_cast<double>(core_.streams));
    subscription_ =
        core_.publisher.subscribe(stream_.topic, [&io = core_.io, signalled = signalled_, weak = weak_from_this()] {
          if (signalled->exchange(true)) return;
          boost::asio::post(io, [signalled, weak] {
            signalled->store(false);
            if (const auto self = weak.lock()) self->wake();
          });
        });
    watch_client();
    rest();
    woken_ = true;
    write(std::move(head) + framed(kRetry));
  }

  void wind_down() override {
    ending_ = true;
    if (!writing_) write_end();
  }

  void close() override {
    if (closed_) return;
    closed_ = true;
    subscription_.reset();
    write_deadline_.cancel();
    heartbeat_.cancel();
    Failure ignored;  // it is going away, whatever the socket says
    socket_.close(ignored);
    --core_.streams;
    core_.subject_streams.remove(holder_, 1);
    core_.env.observer.gauge("http_streams", static_cast<double>(core_.streams));
    core_.forget(shared_from_this());
  }

 private:
  // What a worker runs. The session goes before the core that its socket needs.
  struct Ask {
    std::shared_ptr<Core> core;
    std::shared_ptr<EventStream> stream;

    void operator()() {
      std::optional<std::string> text;
      try {
        text = stream->stream_.next();
      } catch (const std::exception& error) {
        // The client comes back by itself; where its reading fails for good, the
        // request for the new stream says so with a status.
        std::string fields = "\"cause\":";
        json::write_string(fields, error.what());
        core->env.observer.log(Observer::Level::warn, "an event stream was cut", fields);
      }
      boost::asio::post(
          core->io, [stream = std::move(stream), text = std::move(text)]() mutable { stream->told(std::move(text)); });
    }
  };

  std::string framed(std::string_view text) const { return chunked_ ? chunk(text) : std::string(text); }

  // Also once a second, by Publisher::publish_all.
  void wake() {
    woken_ = true;
    if (until_ && core_.env.clock.now() >= *until_ && !closed_ && !ending_) return wind_down();
    if (!closed_ && !ending_ && !asking_ && !writing_) ask();
  }

  void ask() {
    woken_ = false;
    asking_ = true;
    core_.post(Ask{core_.shared_from_this(), shared_from_this()});
  }

  void told(std::optional<std::string> text) {
    asking_ = false;
    if (closed_ || ending_) return;
    if (!text) {
      ending_ = true;
      if (!writing_) write_end();
    } else if (!text->empty()) {
      pending_ += framed(*text);
      woken_ = woken_ || stream_.in_parts;
      if (!writing_) write(std::exchange(pending_, {}));
    } else if (woken_ && !writing_) {
      ask();
    }
  }

  void write(std::string bytes) {
    writing_ = true;
    out_ = std::move(bytes);
    write_deadline_.set(core_.options.body_timeout, [self = shared_from_this()] { self->close(); });
    boost::asio::async_write(socket_, boost::asio::buffer(out_),
                             [self = shared_from_this()](Failure failure, std::size_t) { self->written(failure); });
  }

  void written(Failure failure) {
    writing_ = false;
    if (closed_) return;
    write_deadline_.cancel();
    if (failure || ended_) return close();
    if (ending_) return write_end();
    if (!pending_.empty()) return write(std::exchange(pending_, {}));
    if (woken_ && !asking_) ask();
  }

  void write_end() {
    if (closed_ || ended_) return;
    ended_ = true;
    if (!chunked_) return close();
    write("0\r\n\r\n");
  }

  void rest() {
    heartbeat_.set(core_.options.heartbeat, [self = shared_from_this()] {
      if (self->closed_ || self->ending_) return;
      if (!self->writing_) self->write(self->framed(kHeartbeat));
      self->rest();
    });
  }

  // Nothing is expected from the client but its end; a little noise is ignored.
  void watch_client() {
    socket_.async_read_some(boost::asio::buffer(noise_),
                            [self = shared_from_this()](Failure failure, std::size_t size) {
                              self->noise_bytes_ += size;
                              if (failure || self->noise_bytes_ > self->core_.options.header_bytes_max)
                                return self->close();
                              self->watch_client();
                            });
  }

  Core& core_;
  Socket socket_;
  Stream stream_;
  const bool chunked_;
  const std::string holder_;
  const std::optional<Time> until_;
  Deadline write_deadline_, heartbeat_;
  std::shared_ptr<std::atomic<bool>> signalled_;  // a wake-up is on its way; any thread
  std::unique_ptr<Publisher::Subscription> subscription_;
  std::string out_, pending_;
  std::array<char, 256> noise_;
  std::size_t noise_bytes_ = 0;
  bool woken_ = false, asking_ = false, writing_ = false;
  bool ending_ = false, ended_ = false, closed_ = false;
};

}  // namespace

void start_event_stream(Core& core, Socket socket, Opening opening) {
  std::string head = std::move(opening.head);
  const auto connection = std::make_shared<EventStream>(core, std::move(socket), std::move(opening));
  core.keep(connection);
  connection->start(std::move(head));
  if (core.stopping) connection->wind_down();
}

}  // namespace skald::http
