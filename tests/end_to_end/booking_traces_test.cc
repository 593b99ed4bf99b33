// One booking is one trace: what a collector gets of it, in every deployment.
#include "end_to_end/booking_site.h"
#include "end_to_end/skald_process.h"
#include "observe/program_observer.h"
#include "runtime/tracing.h"
#include "runtime/wakeup.h"
#include "support/http_receiver.h"

namespace skald::test {
namespace {

using testing::ElementsAre;

constexpr char kTrace[] = "0af7651916cd43dd8448eb211c80319c";
constexpr char kClient[] = "b7ad6b7169203331";
const std::string kTraceparent = std::string("00-") + kTrace + "-" + kClient + "-01";

struct Seen {
  std::string service, name, id, parent;
};

// What a collector was sent of one trace, by span id.
std::map<std::string, Seen> spans_at(const HttpReceiver& collector) {
  std::map<std::string, Seen> out;
  const auto text = [](const boost::json::object& object, const char* name) {
    const auto* value = object.if_contains(name);
    return value == nullptr ? std::string() : std::string(value->as_string());
  };
  for (const auto& request : collector.requests()) {
    EXPECT_EQ(request.target, "/v1/traces");
    const auto sent = json::parse(request.body).at("resourceSpans").at(0);
    const std::string service(sent.at("resource").at("attributes").at(0).at("value").at("stringValue").as_string());
    for (const auto& one : sent.at("scopeSpans").at(0).at("spans").as_array()) {
      const auto& span = one.as_object();
      if (text(span, "traceId") != kTrace) continue;
      const Seen seen{service, text(span, "name"), text(span, "spanId"), text(span, "parentSpanId")};
      EXPECT_TRUE(out.emplace(seen.id, seen).second) << seen.name << " came twice";
    }
  }
  return out;
}

bool has(const std::map<std::string, Seen>& spans, const std::string& name) {
  return std::ranges::any_of(spans, [&](const auto& one) { return one.second.name == name; });
}

// From the client down to the first span of that name.
std::vector<std::string> way_to(const std::map<std::string, Seen>& spans, const std::string& name) {
  std::vector<std::string> out;
  const auto last = std::ranges::find_if(spans, [&](const auto& one) { return one.second.name == name; });
  for (auto at = last; at != spans.end(); at = spans.find(at->second.parent)) out.insert(out.begin(), at->second.name);
  return out;
}

bool is_one_tree(const std::map<std::string, Seen>& spans) {
  const auto first = std::ranges::count_if(spans, [](const auto& one) { return one.second.parent == kClient; });
  return first == 1 && std::ranges::all_of(spans, [&](const auto& one) {
           return one.second.parent == kClient || spans.contains(one.second.parent);
         });
}

// Before the site, which refers to it.
struct Observed {
  std::unique_ptr<Clock> clock = system_clock();
  std::unique_ptr<Random> random = system_random();
  Metrics metrics;
  JsonLog log{*clock, Observer::Level::critical};
  ProgramObserver observer{metrics, log};
  HttpReceiver collector;
  runtime::Tracing tracing{Env{*clock, *random, observer}, {.endpoint = collector.url(""), .resource = {"test", "1"}}};
  Observed() { observer.export_to(&tracing.spans()); }
};

class BookingTraces : private Observed, public BookingTest {
 protected:
  BookingTraces() : BookingTest(observer) {}
  const HttpReceiver& collected() const { return collector; }
};
INSTANTIATE_TEST_SUITE_P(Deployed, BookingTraces,
                         testing::Values(Deployment::embedded, Deployment::shared, Deployment::distributed), name_of);

TEST_P(BookingTraces, ABookingIsOneTreeFromItsRequestToItsNotification) {
  const std::string slot = offer(4);
  const Response made = call(customer("kim"), "POST", "/booking/bookings",
                             R"({"slotId":")" + slot + R"(","players":1})", {{"traceparent", kTraceparent}});
  ASSERT_EQ(made.status, 202) << made.body;
  settle();
  until(
      [&] {
        const auto spans = spans_at(collected());
        return is_one_tree(spans) && has(spans, "handle booking.confirmed") && has(spans, "handle slot.changed");
      },
      "the trace is whole");
  const auto spans = spans_at(collected());
  EXPECT_THAT(way_to(spans, "handle booking.confirmed"),
              ElementsAre("POST /booking/bookings", "send slot.reserve", "handle slot.reserve", "send slot.reserved",
                          "handle slot.reserved", "send booking.confirmed", "handle booking.confirmed"));
}

class TracedProcesses : public testing::Test {
 protected:
  void serve(const std::string& service, bool traced = true) {
    std::vector<std::string> arguments = {"--services", service,    "--data", (folder_.path() / service).string(),
                                          "--bus",      nats_.url()};
    SkaldServer::Variables variables;
    if (traced) variables = {{"SKALD_OTLP_ENDPOINT", collector_.url("")}, {"SKALD_OTLP_HEADERS", "api-key=hush-hush"}};
    if (service != "user-api") variables["SKALD_DB"] = databases_[service].url();
    processes_[service] = std::make_unique<SkaldServer>(arguments, variables);
  }
  void until(const std::function<bool()>& ready, const std::string& what) {
    for (int i = 0; i < 12'000; ++i) {
      if (ready()) return;
      for (const auto& [service, process] : processes_) process->log();
      runtime::Wakeup().wait(5ms);
    }
    FAIL() << "not in time: " << what;
  }
  HttpAnswer ask(const std::string& method, const std::string& path, const std::string& body = "",
                 const std::vector<std::string>& headers = {}) {
    return processes_.at("user-api")->request(method, path, body, headers);
  }
  std::string create(const std::string& path, const std::string& body) {
    const HttpAnswer answer = ask("POST", path, body);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return std::string(answer.json().at("id").as_string());
  }
  // The last to be told is told.
  void book() {
    until([&] { return ask("GET", "/readyz").status == 200; }, "all are there");
    const std::string course = create("/booking/courses", R"({"name":"Riverside"})");
    const std::string slot =
        create("/booking/slots", R"({"courseId":")" + course +
                                     R"(","startsAt":"2090-01-01T09:00:00Z","maxPlayers":4,"pricePerPlayer":10})");
    const std::string wanted = R"({"slotId":")" + slot + R"(","players":1})";
    until([&] { return ask("POST", "/booking/bookings", wanted).status == 202; }, "the slot is known to booking");
    const HttpAnswer made = ask("POST", "/booking/bookings", wanted, {"traceparent: " + kTraceparent});
    ASSERT_EQ(made.status, 202) << made.body;
    const std::string told = "/booking/bookings/" + std::string(made.json().at("id").as_string()) + "/notifications";
    until([&] { return ask("GET", told).json().at("items").as_array().size() == 1; }, "its customer is told");
  }

  TemporaryFolder folder_;
  NatsServer nats_;
  HttpReceiver collector_;
  std::map<std::string, ScratchPostgres> databases_;
  std::map<std::string, std::unique_ptr<SkaldServer>> processes_;
};

TEST_F(TracedProcesses, ABookingThroughFourProcessesIsOneTree) {
  for (const char* service : {"booking", "course", "notify", "user-api"}) serve(service);
  book();
  until([&] { return has(spans_at(collector_), "handle booking.confirmed"); }, "the trace has its end");
  const std::string metrics = processes_.at("booking")->request("GET", "/metrics").body;
  EXPECT_NE(metrics.find("\nskald_spans_sent_total "), std::string::npos);
  // Stopping sends the rest.
  for (const auto& [service, process] : processes_) {
    EXPECT_EQ(process->stop(), 0) << service;
    EXPECT_EQ(process->log().find("hush"), std::string::npos);
  }
  const auto spans = spans_at(collector_);
  EXPECT_TRUE(is_one_tree(spans));
  EXPECT_THAT(way_to(spans, "handle booking.confirmed"),
              ElementsAre("POST /booking/bookings", "ask booking", "POST /booking/bookings", "send slot.reserve",
                          "handle slot.reserve", "send slot.reserved", "handle slot.reserved", "send booking.confirmed",
                          "handle booking.confirmed"));
  std::map<std::string, std::string> who;
  for (const auto& [id, span] : spans) who[span.name] = span.service;
  EXPECT_EQ(who["ask booking"], "user-api");
  EXPECT_EQ(who["handle slot.reserve"], "course");
  EXPECT_EQ(who["handle booking.confirmed"], "notify");
  for (const auto& request : collector_.requests()) EXPECT_EQ(request.headers.at("api-key"), "hush-hush");
}

TEST_F(TracedProcesses, WithoutAnEndpointNothingIsSent) {
  for (const char* service : {"booking", "course", "notify", "user-api"}) serve(service, false);
  book();
  for (const auto& [service, process] : processes_) {
    EXPECT_EQ(process->request("GET", "/metrics").body.find("spans_"), std::string::npos);
    EXPECT_EQ(process->stop(), 0) << service;
  }
  EXPECT_EQ(collector_.connections(), 0);
}

TEST_F(TracedProcesses, SettingsThatCannotWorkAreRefusedWithoutTheirSecrets) {
  const auto refused = [&](const SkaldServer::Variables& variables) {
    const CommandResult result = run_skald({"serve", "--data", folder_.path().string()}, variables);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_EQ(result.err.find("hush"), std::string::npos) << result.err;
    return result.err;
  };
  const std::string url = collector_.url("");
  EXPECT_NE(refused({{"SKALD_OTLP_ENDPOINT", "http://ada:hush@host"}}).find("otlp.endpoint"), std::string::npos);
  EXPECT_NE(refused({{"SKALD_OTLP_ENDPOINT", url}, {"SKALD_OTLP_HEADERS", "hush"}}).find("otlp.headers"),
            std::string::npos);
  EXPECT_NE(refused({{"SKALD_OTLP_RATIO", "1.5"}}).find("from 0 to 1"), std::string::npos);
}

}  // namespace
}  // namespace skald::test
