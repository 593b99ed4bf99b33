#include "crash/lane.h"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>

namespace skald::crash {
namespace {

// The writes by which sagas come forward and change hands. The others are jobs and
// partitions.
constexpr std::array<std::string_view, 11> kOfSagas = {
    "begin act",        "keep answer",    "order.place", "order.cancel", "wait for permit", "release permit",
    "result of a call", "join as worker", "claim sagas", "take over",    "release sagas"};

std::string text_of(const Doom& doom) {
  return std::string(enum_name(doom.moment)) + " '" + doom.at.write + "' " + std::to_string(doom.at.nth);
}

}  // namespace

Lane::Lane(Dialect dialect, const Story& story) : story_(story), scene_(dialect, story.pace), process_(scene_.start()) {
  offer(*process_, "desk", 1'000'000);
  offer(*process_, "lamp", 1'000'000);
  offer(*process_, "rare", 1);
  // A process that dies in a call keeps its permit until its lease is over: there must be enough.
  process_->send("PUT", "/order/provider", R"({"permits":1000})", 200);
  scene_.behave(story_.provider);
}

bool Lane::ask() {
  const bool cancels = story_.cancelled && !order_id_.empty();
  const auto answer = request(cancels);
  if (!answer || answer->status != 202) return false;
  if (!cancels) order_id_ = from_json<order::OrderView>(answer->body).id;
  answer_ = answer->body;
  return true;
}

std::optional<test::HttpAnswer> Lane::request(bool cancels) const {
  return process_->ask("POST", cancels ? "/order/orders/" + order_id_ + "/cancel" : "/order/orders",
                       cancels ? "" : story_.order, {"Idempotency-Key: story-" + std::to_string(stories_)});
}

bool Lane::has_ended() const {
  const auto order = order_at(*process_, order_id_);
  if (!order) return false;
  return story_.cancelled && answered_ ? order->status == order::Status::CANCELLED
                                       : order->status != order::Status::PENDING;
}

bool Lane::live() {
  bool died = false;
  const bool ended = until([&] {
    if (process_->ended()) return died = true;
    if (!answered_) return (answered_ = ask()) && has_ended();
    return has_ended();
  });
  if (!ended)
    throw std::runtime_error("the end of order " + order_id_ + " is not in sight: " +
                             process_->get("/api/sagas?key=" + order_id_) + process_->get("/test/commits"));
  return !died;
}

void Lane::prepare() {
  ++stories_;
  order_id_.clear();
  answered_ = false;
  if (!story_.cancelled) return;
  const bool confirmed = until([&] { return (!order_id_.empty() || ask()) && has_ended(); });
  if (!confirmed) throw std::runtime_error("no order could be confirmed");
}

std::vector<Commit> Lane::commits() const {
  auto found = process_->get_as<Commits>("/test/commits").items;
  std::erase_if(found, [](const Commit& commit) { return std::ranges::count(kOfSagas, commit.write) == 0; });
  return found;
}

std::vector<Commit> Lane::boundaries() {
  prepare();
  process_->send("POST", "/test/doom", to_json(Doom{}), 200);
  if (!live()) throw std::runtime_error("a process that was not told to die has died");
  auto out = commits();
  check("undisturbed");
  return out;
}

Lane::Told Lane::tell(const Doom& first, const Doom& second) {
  prepare();
  process_->send("POST", "/test/doom", to_json(first), 200);
  std::string what = text_of(first);
  Told told;
  const bool died = !live();
  told.met = first.moment == Moment::answer_lost ? !died && std::ranges::count(commits(), first.at) == 1 : died;
  if (died) process_ = scene_.start(second);
  if (died && second.moment != Moment::never) {
    what += ", then " + text_of(second);
    told.met = !live();
    if (told.met) process_ = scene_.start();
  }
  if (!told.met && !process_->ask("POST", "/test/doom", to_json(Doom{}))) {
    told.met = true;  // it died as it was told to, a moment after the order had ended
    process_ = scene_.start();
  }
  if (!live()) throw std::runtime_error(what + ": a process that was not told to die has died");
  told.recovery = commits();
  check(what);
  return told;
}

void Lane::check(const std::string& what) {
  const auto order = order_at(*process_, order_id_);
  const std::string reason = order && order->reason ? order->reason->code : "";
  if (!order || order->status != story_.end || reason != story_.reason)
    faults_.push_back(what + ": the order is " + (order ? to_json(*order) : "gone"));
  const auto again = request(story_.cancelled);
  if (!again || again->body != answer_)
    faults_.push_back(what + ": its request was answered " + answer_ + " and then " + (again ? again->body : "not"));
  for (const std::string& wrong : what_is_wrong(*process_)) faults_.push_back(what + ": " + wrong);
}

void Lane::check_books() {
  if (stories_ == 0) return;  // other lanes were faster
  std::map<order::ChargeStatus, int> charges;
  for (const order::Charge& charge : scene_.charges()) ++charges[charge.status];
  const int kept = story_.end == order::Status::CONFIRMED ? stories_ : 0;
  const int refunded = story_.cancelled ? stories_ : 0;
  if (charges[order::ChargeStatus::CHARGED] != kept || charges[order::ChargeStatus::REFUNDED] != refunded)
    faults_.push_back("of " + std::to_string(stories_) + " orders the provider has charged " +
                      std::to_string(charges[order::ChargeStatus::CHARGED]) + " and refunded " +
                      std::to_string(charges[order::ChargeStatus::REFUNDED]));
  for (const std::string& anomaly : anomalies(*process_)) faults_.push_back(anomaly);
}

}  // namespace skald::crash
