#include "bus/nats/nats_inlet.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <vector>

#include "base/text.h"
#include "bus/cloud_event_reader.h"
#include "skald/error.h"

namespace skald {
namespace {

// One transaction's worth, of messages.
constexpr std::size_t kLandedMax = 128;
constexpr Duration kLandAgainMin = 50ms, kLandAgainMax = 5s;

const NatsInletOptions& checked(const NatsInletOptions& options) {
  check_nats_name("the service", options.service);
  check_nats_name("the topic", options.topic);
  if (options.in_flight_max == 0 || options.window < 2min)
    throw Invalid("NATS_LIMIT",
                  "the limit of fetched events must be above zero, and the window two minutes at least: NATS syncs "
                  "once a minute");
  return options;
}

// The number behind the last `mark`, or `none`.
template <class T>
T number_behind(std::string_view text, char mark, T none) {
  const std::size_t at = text.rfind(mark) + 1;
  T value = none;
  const char* const end = text.data() + text.size();
  return std::from_chars(text.data() + at, end, value).ptr == end ? value : none;
}

}  // namespace

NatsInlet::NatsInlet(const Env& env, NatsInletOptions options, Land land, OnUnreadable on_unreadable)
    : env_(env),
      options_(checked(options)),
      land_(std::move(land)),
      on_unreadable_(std::move(on_unreadable)),
      subject_prefix_("skald." + options_.topic + "."),
      link_(env, options_.connection,
            {.up = [this] { on_up(); },
             .down = [this] { on_down(); },
             .message = [this](NatsMessage message) { on_message(std::move(message)); }}) {
  for (int partition = 0; partition < kPartitions; ++partition)
    consumers_.emplace_back(env, link_,
                            NatsConsumer::Names{nats_stream(options_.topic), nats_durable(options_.service, partition),
                                                nats_subject(options_.topic, partition)},
                            options_.window);
}

void NatsInlet::set_partitions(std::uint64_t mask) {
  mask_ = mask;
  for (std::size_t partition = 0; partition < consumers_.size(); ++partition) {
    if (mask >> partition & 1) consumers_[partition].start();
    else consumers_[partition].stop();
  }
  std::erase_if(arrived_, [&](const Arrived& arrived) {
    const bool lost = !(mask >> arrived.partition & 1);
    if (lost) --waiting_[static_cast<std::size_t>(arrived.partition)];
    return lost;
  });
}

void NatsInlet::on_up() {
  for (NatsConsumer& consumer : consumers_) consumer.on_up();
}

// What has come is not landed any more: it comes again with the next session,
// whose order it would disturb.
void NatsInlet::on_down() {
  for (NatsConsumer& consumer : consumers_) consumer.on_down();
  arrived_.clear();
  waiting_ = {};
}

void NatsInlet::on_message(NatsMessage message) {
  const std::string_view subject = message.subject();
  if (subject.starts_with(subject_prefix_)) {
    const int partition = number_behind(subject, '.', -1);
    if (partition < 0 || partition >= kPartitions) return;
    if (!consumers_[static_cast<std::size_t>(partition)].accept(message)) return;
    ++waiting_[static_cast<std::size_t>(partition)];
    arrived_.push_back({partition, std::move(message)});
    return;
  }
  // …DURABLE.PULL, where the durable ends in -PARTITION.
  const auto pull = number_behind<std::uint64_t>(subject, '.', 0);
  const int partition = number_behind(subject.substr(0, subject.rfind('.')), '-', -1);
  if (partition >= 0 && partition < kPartitions)
    consumers_[static_cast<std::size_t>(partition)].on_status(pull, message);
}

void NatsInlet::poll(Duration wait, std::span<const int> wake) {
  go_on();
  link_.poll(shorten(wait), wake);
  land();
  go_on();
}

std::size_t NatsInlet::share() const {
  return std::max<std::size_t>(1, options_.in_flight_max / static_cast<std::size_t>(std::max(1, std::popcount(mask_))));
}

void NatsInlet::go_on() {
  const std::size_t most = share();
  for (std::size_t partition = 0; partition < consumers_.size(); ++partition)
    if (consumers_[partition].is_wanted()) consumers_[partition].go_on(most - std::min(most, waiting_[partition]));
}

Duration NatsInlet::shorten(Duration wait) const {
  const Instant now = env_.clock.steady();
  if (!arrived_.empty()) wait = std::min(wait, land_at_ - now);
  for (const NatsConsumer& consumer : consumers_)
    if (const Instant due = consumer.next_due(); due != Instant::max()) wait = std::min(wait, due - now);
  return std::max<Duration>(wait, 0us);
}

void NatsInlet::land() {
  while (!arrived_.empty() && land_at_ <= env_.clock.steady()) {
    const std::size_t count = std::min(arrived_.size(), kLandedMax);
    try {
      land_first(count);
      failures_ = 0;
    } catch (const std::exception& error) {
      const int doublings = std::min(failures_++, 10);
      land_at_ = env_.clock.steady() + std::min<Duration>(kLandAgainMax, kLandAgainMin * (1 << doublings));
      env_.observer.count("nats_landings_failed_total");
      env_.observer.log(Observer::Level::warn,
                        "events from NATS cannot be landed and are tried again: " + cut_text(error.what(), 300));
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto partition = static_cast<std::size_t>(arrived_.front().partition);
      consumers_[partition].on_landed(arrived_.front().message);
      --waiting_[partition];
      arrived_.pop_front();
    }
  }
}

void NatsInlet::land_first(std::size_t count) {
  std::vector<Message> readable;
  std::vector<Origin> origins;
  for (std::size_t i = 0; i < count; ++i) {
    const NatsMessage& message = arrived_[i].message;
    const bool was_left = consumers_[static_cast<std::size_t>(arrived_[i].partition)].was_left(message);
    for (const std::string_view text : events_in(message)) {
      const Origin origin{message.subject(), text};
      try {
        readable.push_back(read_cloud_event(text));
        if (was_left) readable.back().attempt = 2;
        origins.push_back(origin);
      } catch (const Invalid& error) {
        set_aside(origin, error.what());
      }
    }
  }
  if (readable.empty()) return;
  try {
    land_(readable);
  } catch (const Invalid&) {
    // One of them can never be landed, and must not hold up the others.
    for (std::size_t i = 0; i < readable.size(); ++i) land_alone(readable[i], origins[i]);
  }
}

std::vector<std::string_view> NatsInlet::events_in(const NatsMessage& message) {
  try {
    return split_cloud_events(message.body());
  } catch (const Invalid& error) {
    set_aside({message.subject(), message.body()}, error.what());
    return {};
  }
}

void NatsInlet::land_alone(const Message& event, const Origin& origin) {
  try {
    land_({&event, 1});
  } catch (const Invalid& error) {
    set_aside(origin, error.what());
  }
}

void NatsInlet::set_aside(const Origin& origin, std::string_view why) {
  env_.observer.count("nats_unreadable_total");
  on_unreadable_(origin.subject, origin.text, why);
}

}  // namespace skald
