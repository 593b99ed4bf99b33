#include "runtime/tracing.h"

namespace skald::runtime {

Tracing::Tracing(const Env& env, OtlpOptions options)
    : queue_([this] { loop_.wake(); }),
      exporter_(env, std::move(options), queue_),
      loop_(
          env, "spans",
          [this] {
            const Duration idle = exporter_.step();
            if (exporter_.has_ended()) ended_.set();
            return idle;
          },
          [this](Duration longest, Wakeup& wakeup) {
            const int fd = wakeup.fd();
            exporter_.poll(longest, {&fd, 1});
            wakeup.clear();
          }) {
  loop_.start();
}

void Tracing::stop(Duration grace) {
  exporter_.hurry();
  loop_.wake();
  ended_.wait(grace);
  loop_.stop();
}

}  // namespace skald::runtime
