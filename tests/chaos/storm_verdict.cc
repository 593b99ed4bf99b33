#include "chaos/storm_verdict.h"

#include "chaos/verdict.h"
#include "skald/checklist.h"

namespace skald::chaos {
namespace {

using order::ChargeStatus;
using order::OrderView;
using order::Status;

struct DeadLetter {
  std::string id, reason, last_error;
};

std::vector<DeadLetter> dead_letters(const StormSite& site) {
  std::vector<DeadLetter> out;
  for (const RawJson& item : site.list<RawJson>("/api/dead-letters")) {
    const auto letter = json::parse(item.text);
    const auto* error = letter.as_object().if_contains("lastError");
    out.push_back({std::string(letter.at("id").as_string()), std::string(letter.at("reason").as_string()),
                   error == nullptr ? "" : std::string(error->as_string())});
  }
  return out;
}

void judge_parked(const StormSite& site, StormVerdict& verdict) {
  for (const auto& saga : site.list<OfService<SagaView>>("/api/sagas?status=NEEDS_HELP")) {
    ++verdict.parked;
    verdict.stuck.push_back("saga " + saga.id + " (" + saga.type + ", order " + saga.key.value_or("?") +
                            ") needs help in '" + saga.step +
                            "': " + (saga.error ? saga.error->code + ", " + saga.error->message : "no reason"));
  }
  for (const DeadLetter& letter : dead_letters(site)) {
    ++verdict.dead_letters;
    verdict.stuck.push_back("event " + letter.id + " is a dead letter: " + letter.reason + ", " + letter.last_error);
  }
}

void judge_invariants(const StormSite& site, StormVerdict& verdict) {
  for (const char* service : {"order", "donation"})
    for (const Check& check : site.get_as<Invariants>("/" + std::string(service) + "/invariants").checks)
      if (!check.ok) verdict.faults.push_back(std::string(service) + ": " + check.name + ": " + check.detail);
  const auto locks = site.list<OfService<LockView>>("/api/locks");
  if (!locks.empty())
    verdict.faults.push_back(std::to_string(locks.size()) + " locks are left, the first is " + to_json(locks[0]));
}

// An order that is confirmed is charged once; any other is not, or has its money back.
void judge_orders(const StormSite& site, const std::set<std::string>& acknowledged, StormVerdict& verdict) {
  std::map<std::string, int> charged;
  for (const order::Charge& charge : site.charges())
    if (charge.status == ChargeStatus::CHARGED) ++charged[charge.reference];
  std::set<std::string> missing = acknowledged;
  for (const OrderView& order : site.list<OrderView>("/order/orders")) {
    missing.erase(order.id);
    if (order.status == Status::PENDING) verdict.faults.push_back("order " + order.id + " has not settled");
    if (order.status == Status::FAILED) ++verdict.failed[order.reason ? order.reason->code : "?"];
    const int expected = order.status == Status::CONFIRMED ? 1 : 0;
    if (order.status != Status::PENDING && charged[order.id] != expected)
      verdict.faults.push_back("order " + order.id + " is " + std::string(enum_name(order.status)) + " and charged " +
                               std::to_string(charged[order.id]) + " times");
  }
  for (const std::string& id : missing) verdict.faults.push_back("order " + id + " was acknowledged and is not there");
}

}  // namespace

StormVerdict judge_storm(StormSite& site, const std::set<std::string>& orders, const std::set<std::string>& donations) {
  StormVerdict verdict;
  judge_parked(site, verdict);
  judge_orders(site, orders, verdict);
  judge_invariants(site, verdict);
  const Verdict announced = judge(site.receiver().requests(), donations);
  verdict.faults.insert(verdict.faults.end(), announced.faults.begin(), announced.faults.end());
  return verdict;
}

}  // namespace skald::chaos
