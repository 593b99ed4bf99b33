#include "host/news.h"

#include <algorithm>

#include "host/asking.h"

namespace skald::host {

// Each process gets all of it: a browser is connected to one, and nobody knows to which.
News::News(Env env, const NatsOptions& nats, std::function<void(std::string_view topic)> publish)
    : responder_(env, nats, std::string(kNewsSubject), "",
                 [publish = std::move(publish)](const NatsQuestion& news) {
                   for (std::string_view rest = news.body; !rest.empty();) {
                     const std::size_t end = std::min(rest.find('\n'), rest.size());
                     publish(rest.substr(0, end));
                     rest.remove_prefix(std::min(end + 1, rest.size()));
                   }
                 }),
      loop_(
          env, "news of other processes", [] { return Duration(1h); },
          [this](Duration longest, runtime::Wakeup& wakeup) {
            const int fd = wakeup.fd();
            responder_.poll(longest, {&fd, 1});
            wakeup.clear();
          }) {
  loop_.start();
}

}  // namespace skald::host
