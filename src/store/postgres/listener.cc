#include "store/postgres/listener.h"

#include <sys/epoll.h>
#include <unistd.h>

namespace skald::postgres {
namespace {

constexpr Duration kConnectTimeout = 5s;
// LISTEN takes no expression.
constexpr char kListen[] = "DO $$ BEGIN EXECUTE format('LISTEN %I', " SKALD_CHANNEL "); END $$";

}  // namespace

PostgresListener::PostgresListener(Env env, ConnectSettings settings)
    : env_(env), settings_(std::move(settings)), watch_(epoll_create1(EPOLL_CLOEXEC)) {
  if (watch_ < 0) throw Unavailable("NO_DESCRIPTOR", "the process has no file descriptor left: raise its limit");
  connect();
}

PostgresListener::~PostgresListener() {
  disconnect();
  close(watch_);
}

void PostgresListener::watch(std::uint32_t events) {
  const int socket = PQsocket(connection_.get());
  // A closed socket leaves the set by itself, and its number may come back: both
  // calls may find the other state.
  epoll_event event{};
  event.events = events;
  if (watched_ != socket && watched_ >= 0) epoll_ctl(watch_, EPOLL_CTL_DEL, watched_, nullptr);
  if (epoll_ctl(watch_, EPOLL_CTL_MOD, socket, &event) != 0) epoll_ctl(watch_, EPOLL_CTL_ADD, socket, &event);
  watched_ = socket;
}

void PostgresListener::disconnect() {
  connection_.reset();
  watched_ = -1;
  stage_ = Stage::disconnected;
}

void PostgresListener::connect() {
  timeline_ = settings_.timeline();
  connection_.reset(settings_.begin_connecting());
  if (connection_ == nullptr || PQstatus(connection_.get()) == CONNECTION_BAD) return disconnect();
  PQsetNoticeReceiver(connection_.get(), [](void*, const PGresult*) {}, nullptr);
  stage_ = Stage::connecting;
  connect_end_ = env_.clock.steady() + kConnectTimeout;
  watch(EPOLLOUT);
}

void PostgresListener::go_on_connecting() {
  switch (PQconnectPoll(connection_.get())) {
    case PGRES_POLLING_READING: watch(EPOLLIN); break;
    case PGRES_POLLING_WRITING: watch(EPOLLOUT); break;
    case PGRES_POLLING_OK: {
      PQsetnonblocking(connection_.get(), 1);
      if (PQsendQuery(connection_.get(), kListen) == 0) return disconnect();
      PQflush(connection_.get());
      stage_ = Stage::subscribing;
      watch(EPOLLIN);
      break;
    }
    default: return disconnect();
  }
  if (stage_ == Stage::connecting && env_.clock.steady() > connect_end_) {
    settings_.begin_elsewhere();  // libpq itself would wait for its first host for ever
    disconnect();
  }
}

// True once LISTEN has been answered.
bool PostgresListener::subscribed() {
  while (PQisBusy(connection_.get()) == 0) {
    PGresult* result = PQgetResult(connection_.get());
    if (result == nullptr) return true;
    const bool failed = PQresultStatus(result) != PGRES_COMMAND_OK;
    PQclear(result);
    if (failed) {
      disconnect();
      return false;
    }
  }
  return false;
}

Listener::Heard PostgresListener::drain() {
  Heard out;
  Partitions heard;
  if (timeline_ < settings_.timeline()) disconnect();
  if (stage_ == Stage::disconnected) connect();
  if (stage_ == Stage::connecting) go_on_connecting();
  if (stage_ == Stage::subscribing || stage_ == Stage::listening) {
    if (PQconsumeInput(connection_.get()) == 0) {
      disconnect();
      connect();
    } else if (stage_ == Stage::subscribing && subscribed()) {
      stage_ = Stage::listening;
      heard.set();
    }
  }
  if (stage_ == Stage::listening) {
    while (PGnotify* notification = PQnotifies(connection_.get())) {
      const std::string_view text = notification->extra;
      const std::size_t end = text.find(' ');
      const Partitions partitions = read_partitions(text.substr(0, end));
      if (end == text.npos || partitions.count() != 1) heard |= partitions;
      else out.offers.push_back({list_of(partitions).front(), std::string(text.substr(end + 1))});
      PQfreemem(notification);
    }
  }
  out.partitions = list_of(heard);
  return out;
}

}  // namespace skald::postgres
