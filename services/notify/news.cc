#include "notify/news.h"

#include "golf/events.h"
#include "notify/text.h"
#include "skald/id.h"
#include "skald/lenient_json.h"

namespace notify {
namespace {

using skald::Observer;
using skald::Transaction;

constexpr std::size_t kCustomerMax = 255;

std::optional<Kind> kind_of(std::string_view type) {
  if (type == "booking.confirmed") return Kind::CONFIRMED;
  if (type == "booking.failed") return Kind::FAILED;
  if (type == "booking.cancelled") return Kind::CANCELLED;
  return std::nullopt;
}

golf::BookingNews news_of(const skald::Message& message) {
  auto news = skald::from_lenient_json<golf::BookingNews>(message.event.payload);
  if (news.booking_id.empty() || news.booking_id.size() > kIdMax || news.number.size() > kIdMax ||
      news.customer.empty() || news.customer.size() > kCustomerMax || news.players < 1)
    throw skald::Invalid("BAD_NEWS", message.event.type + " needs a bookingId, a customer and at least one player");
  return news;
}

bool keep(Transaction& tx, const Notification& made) {
  return tx.execute(
             "INSERT INTO notify_notification (booking_id, kind, id, customer, text, channel, at) "
             "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (booking_id, kind) DO NOTHING",
             made.booking_id, made.kind, made.id, made.customer, made.text, made.channel, made.at) == 1;
}

std::string fields_of(const Notification& made) {
  const std::string object = skald::to_json(made);
  return object.substr(1, object.size() - 2) + ",\"sagaId\":" + skald::to_json(made.booking_id);
}

// Counted and logged once it is committed: a transaction may run several times before that.
void report(Transaction& tx, skald::Env env, std::string_view metric, std::string_view text, std::string fields) {
  tx.after_commit([env, metric, text, fields = std::move(fields)] {
    env.observer.count(metric);
    env.observer.log(Observer::Level::info, text, fields);
  });
}

}  // namespace

void tell(skald::Env env, Channel channel, Transaction& tx, const skald::Message& message) {
  const auto kind = kind_of(message.event.type);
  if (!kind) return;
  const auto news = news_of(message);
  const skald::Time now = tx.now();
  const Notification made{news.booking_id, *kind, skald::make_id(now, env.random), news.customer, text_of(*kind, news),
                          channel,         now};
  if (!keep(tx, made)) {
    report(tx, env, "notify_duplicates_total", "a customer has heard of this already",
           "\"bookingId\":" + skald::to_json(made.booking_id) + ",\"sagaId\":" + skald::to_json(made.booking_id) +
               ",\"kind\":" + skald::to_json(made.kind));
    return;
  }
  if (channel == Channel::webhook) {
    tx.emit({.id = made.id,
             .type = std::string(kSent),
             .key = made.booking_id,
             .subject = made.booking_id,
             .payload = skald::to_json(Sent{made.id, made.booking_id, made.customer, made.kind, made.text, made.at}),
             .traceparent = message.event.traceparent});
  }
  report(tx, env, "notify_sent_total", "a customer is told", fields_of(made));
}

}  // namespace notify
