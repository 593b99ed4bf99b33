#include "order/lab.h"

#include <algorithm>
#include <array>

#include "order/lab_bench.h"
#include "order/lab_plan.h"
#include "order/shop.h"

namespace order {
namespace {

struct Outcome {
  bool occurred;
  std::string explanation;
};

bool locks(const std::string& measure) { return measure == "semantic-lock" || measure == "distributed-lock"; }
bool rereads(const std::string& measure) { return measure == "optimistic-lock" || measure == "reread-value"; }
Exclusion exclusion(const std::string& measure) {
  return measure == "distributed-lock" ? Exclusion::distributed : Exclusion::semantic;
}

// A reserves all, B looks after A's first step, A's payment is declined and A gives back what it has.
Outcome dirty_read(LabBench& bench, const std::string& measure) {
  constexpr std::int64_t all = 10, wanted = 5;
  const bool locking = locks(measure);
  const LabPlan plan = plan_of_trade(measure == "pessimistic-view");
  if (plan.advice) bench.say("A", "plan", *plan.advice);
  if (locking) bench.hold("A", exclusion(measure));
  bool taken = false, waits = false, refused = false;
  const auto look = [&](const std::string& note) {
    refused = bench.read("B", note).quantity < wanted;
    if (refused) bench.say("B", "decide", "sold out: the customer is sent away");
  };
  for (const LabStep step : plan.steps) {
    if (step == LabStep::take) taken = bench.take("A", all, "reserved, not paid yet");
    else bench.say("A", "pay", "declined");
    if (step == plan.steps.front()) {
      waits = locking && !bench.enter("B", exclusion(measure));
      if (!waits) look(taken ? "A's unfinished work, as if it were final" : "nothing of A is exposed");
    }
    if (step == LabStep::pay) break;  // A ends here, undone
  }
  if (taken) bench.give("A", all, refused ? "undo: B has decided on units that were never sold" : "undo");
  if (waits) {
    bench.leave("A", exclusion(measure));
    bench.hold("B", exclusion(measure));
    look("decides on what A has left behind");
    bench.leave("B", exclusion(measure));
  }
  if (refused) return {true, "B sent a customer away because of units that A only held, and gave back"};
  return {false, waits ? "B saw that A was at work, waited for its end, and then found enough"
                       : "A does what may fail before what others see, so that B never saw units that came back"};
}

// A takes 10 and B takes 15 of 100.
Outcome lost_update(LabBench& bench, const std::string& measure) {
  constexpr std::int64_t a = 10, b = 15, expected = 75;
  std::string explanation;
  if (measure == "commutative-update") {
    bench.take("A", a, "quantity - 10, in one guarded statement");
    bench.take("B", b, "quantity - 15: the order does not matter");
    explanation = "both changes are relative: 100 - 10 - 15 = 75, in either order";
  } else if (measure == "version-file") {
    bench.append("A", a);
    bench.append("B", b);
    explanation = "both changes are lines of one numbered log, applied one after the other";
  } else if (locks(measure)) {
    const Exclusion how = exclusion(measure);
    bench.hold("A", how);
    const auto first = bench.read("A", "holds it");
    const bool waits = !bench.enter("B", how);
    LabBench::Seen second = waits ? LabBench::Seen{} : bench.read("B", "let in beside A");
    bench.write("A", first.quantity - a, "");
    bench.leave("A", how);
    if (waits) {
      bench.hold("B", how);
      second = bench.read("B", "what A has left behind");
    }
    bench.write("B", second.quantity - b, "");
    bench.leave("B", how);
    explanation = "B had to wait until A had ended, and read what A had written";
  } else {
    const auto first = bench.read("A", ""), second = bench.read("B", "the same");
    if (rereads(measure)) {
      bench.write_if_unchanged("A", first.version, first.quantity - a, "the version is still the one that A saw");
      if (!bench.write_if_unchanged("B", second.version, second.quantity - b, "")) {
        const auto again = bench.read("B", "goes back to the step that read");
        bench.write_if_unchanged("B", again.version, again.quantity - b, "");
      }
      explanation = "B's write found that the row had changed since B read it: B read again and decided again";
    } else {
      bench.write("A", first.quantity - a, "");
      bench.write("B", second.quantity - b, "from what B remembered: A's change is gone");
      explanation = "both read 100; A's 10 units were written over by B";
    }
  }
  const std::int64_t end = bench.quantity();
  return {end != expected, explanation + "; the end is " + std::to_string(end) + ", 75 is right"};
}

// A reads 100, decides, reads again; B takes 50 in between.
Outcome non_repeatable_read(LabBench& bench, const std::string& measure) {
  constexpr std::int64_t b = 50;
  if (measure == "version-file") {
    constexpr std::int64_t a = 20;
    const std::int64_t line = bench.append("A", a);
    const auto first = bench.value_at("A", line, "as of the last line that A has seen: decides on it");
    bench.append("B", b);
    const auto second = bench.value_at("A", line, "the log up to the same line gives the same");
    const std::int64_t left = bench.quantity();
    return {first != 100 - a || second != first || left != 100 - a - b,
            "A reads as of line " + std::to_string(line) + " of the version file, whatever is appended behind it: " +
                std::to_string(second) + ", though " + std::to_string(left) + " are left by now"};
  }
  if (locks(measure)) {
    const Exclusion how = exclusion(measure);
    bench.hold("A", how);
    const auto first = bench.read("A", "decides on it");
    const bool waits = !bench.enter("B", how);
    if (!waits) bench.take("B", b, "let in beside A");
    const auto second = bench.read("A", "the same", "look again");
    bench.leave("A", how);
    if (waits) {
      bench.hold("B", how);
      bench.take("B", b, "after A's end");
    }
    bench.leave("B", how);
    return {first.quantity != second.quantity, "B had to wait until A had ended"};
  }
  const auto first = bench.read("A", "decides on it");
  bench.take("B", b, "between A's two looks");
  if (rereads(measure)) {
    auto basis = first;
    if (!bench.write_if_unchanged("A", first.version, first.quantity - 1, ""))
      basis = bench.read("A", "goes back to the step that read, and decides anew");
    const bool acted = bench.write_if_unchanged("A", basis.version, basis.quantity - 1, "acts on what it decided on");
    const std::int64_t end = bench.quantity();
    return {!acted || end != 100 - b - 1,
            "A's update found the change by itself; A decided again on 50 before it did anything; the end is " +
                std::to_string(end) + ", 49 is right"};
  }
  const auto second = bench.read("A", "another value than the one that A decided on", "look again");
  return {first.quantity != second.quantity, "A decided on 100 and acts on 50: B's change came in between"};
}

struct Anomaly {
  std::string_view name, remedy;
  std::int64_t quantity;
  Outcome (*run)(LabBench&, const std::string&);
};
constexpr std::array<Anomaly, 3> kAnomalies = {{{"dirty-read", "semantic-lock", 10, dirty_read},
                                                {"lost-update", "commutative-update", 100, lost_update},
                                                {"non-repeatable-read", "reread-value", 100, non_repeatable_read}}};
constexpr std::array<std::string_view, 10> kMeasures = {
    "none",         "semantic-lock",   "commutative-update", "distributed-lock",
    "reread-value", "optimistic-lock", "idempotency-key",    "semaphore",
    "version-file", "pessimistic-view"};

std::string plain(std::string text) {
  for (char& c : text)
    if (c == ' ' || c == '_') c = '-';
  return text == "versioning" ? "optimistic-lock" : text;
}

}  // namespace

LabReport run_lab(const Shop& shop, const LabRequest& request) {
  const std::string wanted = plain(request.anomaly);
  const auto anomaly = std::ranges::find(kAnomalies, wanted, &Anomaly::name);
  if (anomaly == kAnomalies.end())
    throw skald::Invalid("BAD_ANOMALY", "anomaly must be dirty-read, lost-update or non-repeatable-read");
  std::string measure = plain(request.countermeasure.value_or("default"));
  if (measure == "default") measure = anomaly->remedy;
  if (std::ranges::find(kMeasures, measure) == kMeasures.end())
    throw skald::Invalid("BAD_COUNTERMEASURE",
                         "countermeasure must be none, default, semantic-lock, commutative-update, distributed-lock, "
                         "reread-value, optimistic-lock, idempotency-key, semaphore, version-file or pessimistic-view");
  LabBench bench(shop, anomaly->quantity);
  const Outcome outcome = anomaly->run(bench, measure);
  LabReport report{std::string(anomaly->name), measure,        outcome.occurred,
                   outcome.explanation,        bench.timeline, bench.findings()};
  if (report.occurred && measure != "none")
    report.explanation += "; " + measure + " is no remedy for this: use " + std::string(anomaly->remedy);
  return report;
}

void add_lab(const ShopHandle& shop, skald::Router& router) {
  router.act_once(shop->db(), "/order/lab", skald::Access::admin,
                  skald::describe<LabRequest, LabReport>("Make an anomaly happen, or see it prevented"),
                  [shop](const skald::Request& request) {
                    return skald::Response::json(200, run_lab(*shop, request.as<LabRequest>()));
                  });
}

}  // namespace order
