// skald sagas retry --all
#include <algorithm>
#include <array>
#include <ostream>

#include "cli/command.h"
#include "cli/json_view.h"
#include "cli/output.h"
#include "http/target.h"
#include "skald/json.h"

namespace skald::cli {
namespace {

constexpr std::size_t kFailuresShown = 100;
constexpr const char* kEraseLine = "\r\033[K";
// To try these again without a mended program kills workers, or changes nothing.
constexpr std::array<std::string_view, 2> kLeftOut = {"CRASHED", "UNREADABLE"};

struct Failure {
  std::string id, service, code, message;
};
BOOST_DESCRIBE_STRUCT(Failure, (), (id, service, code, message))

struct Summary {
  std::int64_t retried = 0;
  std::int64_t failed = 0;
  std::int64_t gone_on = 0;   // needed no help any more when it was their turn
  std::int64_t left_out = 0;  // parked as kLeftOut, and not asked for
  std::vector<Failure> failures;  // the first of those that failed
};
BOOST_DESCRIBE_STRUCT(Summary, (), (retried, failed, gone_on, left_out, failures))

bool is_left_out(const JsonView& saga) {
  return std::ranges::find(kLeftOut, saga.member("error")["code"]) != kLeftOut.end();
}

// Somebody else has retried it, or it was undone by hand.
bool has_gone_on(const std::string& code) { return code == "SAGA_NOT_PARKED" || code == "SAGA_ENDED"; }

void retry_one(const Api& api, const JsonView& saga, Summary& summary) {
  const std::string id = saga["id"], service = saga["service"];
  try {
    ask(api, "POST", "/api/sagas/" + http::encode_segment(id) + "/retry", {{"service", service}});
    ++summary.retried;
  } catch (const Error& error) {
    if (has_gone_on(error.code())) {
      ++summary.gone_on;
      return;
    }
    ++summary.failed;
    if (summary.failures.size() < kFailuresShown) summary.failures.push_back({id, service, error.code(), error.what()});
  }
}

std::string counted(const Summary& summary) {
  std::string out = std::to_string(summary.retried) + " retried";
  if (summary.failed > 0) out += ", " + std::to_string(summary.failed) + " failed";
  if (summary.gone_on > 0) out += ", " + std::to_string(summary.gone_on) + " had gone on meanwhile";
  return out;
}

// Newest first, each once: a cursor leads only to older ones, so what needs help again
// meanwhile is not met a second time.
void retry_pages(const Arguments& arguments, const Api& api, Summary& summary, std::ostream* progress) {
  auto query = given(arguments, {"type", "code", "service"});
  const bool code_named = query.contains("code");
  query["status"] = "NEEDS_HELP";
  do {
    const JsonView page(ask(api, "GET", "/api/sagas", query));
    for (const JsonView& saga : page.items()) {
      if (!code_named && is_left_out(saga)) ++summary.left_out;
      else retry_one(api, saga, summary);
      if (progress != nullptr) *progress << '\r' << counted(summary) << std::flush;
    }
    query.erase("cursor");
    if (const std::string cursor = page["nextCursor"]; !cursor.empty()) query["cursor"] = cursor;
  } while (query.contains("cursor"));
}

void print_summary(const Summary& summary, std::ostream& out) {
  out << counted(summary) << '\n';
  if (summary.left_out > 0)
    out << summary.left_out
        << " left out, parked as CRASHED or UNREADABLE: mend the program first, then name them with --code\n";
  if (summary.failures.empty()) return;
  std::vector<std::vector<std::string>> rows;
  for (const Failure& one : summary.failures) rows.push_back({one.id, one.service, one.code, one.message});
  out << '\n';
  print_table(out, {"FAILED", "SERVICE", "CODE", "WHY"}, rows);
  const auto more = summary.failed - static_cast<std::int64_t>(summary.failures.size());
  if (more > 0) out << "and " << more << " more\n";
}

}  // namespace

int run_retry_all(const Arguments& arguments, const Api& api, std::ostream& out, std::ostream* progress) {
  if (!arguments.operands.empty()) throw Invalid("USAGE", "skald sagas retry takes an ID or --all, not both");
  Summary summary;
  const auto tell = [&] {
    if (progress != nullptr) *progress << kEraseLine;
    if (arguments.json()) print_json(out, to_json(summary));
    else print_summary(summary, out);
  };
  try {
    retry_pages(arguments, api, summary, progress);
  } catch (const Error&) {
    tell();  // what was done before the list could not be gone on with
    throw;
  }
  tell();
  return summary.failed == 0 ? kDone : kFailed;
}

}  // namespace skald::cli
