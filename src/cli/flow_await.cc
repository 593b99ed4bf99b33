#include "cli/flow_await.h"

#include <algorithm>
#include <array>
#include <ostream>

#include "cli/flow_views.h"
#include "cli/output.h"
#include "http/target.h"

namespace skald::cli {
namespace {

constexpr Duration kFollowLook = 200ms;
constexpr std::array<std::string_view, 5> kResting = {"CREATED", "PAUSED", "COMPLETED", "FAILED", "CANCELLED"};
constexpr std::array<std::string_view, 3> kSagaEnds = {"COMPLETED", "COMPENSATED", "NEEDS_HELP"};

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& all, const std::string& one) {
  return std::ranges::find(all, one) != all.end();
}

class Awaiting {
 public:
  Awaiting(const Api& api, const Terminal& terminal, const std::string& id)
      : api_(api), terminal_(terminal), id_(id), path_("/agentflow/workflows/" + http::encode_segment(id)) {}

  // The saga's end, or null where none is found: old ones are forgotten.
  JsonView saga_end(const std::string& type) {
    const std::string saga = newest_saga(type);
    if (saga.empty()) return JsonView(boost::json::value());
    for (;; terminal_.wait(kFollowLook)) {
      JsonView seen(ask(api_, "GET", "/api/sagas/" + http::encode_segment(saga)));
      tell();
      if (is_among(kSagaEnds, seen["status"])) return seen;
    }
  }

  void until_it_rests() {
    for (tell(); !body_.empty() && !is_among(kResting, JsonView(body_)["status"]); tell()) terminal_.wait(kFollowLook);
  }

  const std::string& workflow() {
    tell();
    return body_;
  }

 private:
  std::string newest_saga(const std::string& type) const {
    const JsonView page(ask(api_, "GET", "/api/sagas", {{"type", type}, {"limit", "200"}}));
    for (const JsonView& saga : page.items())
      if (saga.member("state")["workflowId"] == id_) return saga["id"];
    return "";
  }

  // Looks at the workflow, and says what has become another.
  void tell() {
    try {
      body_ = ask(api_, "GET", path_);
    } catch (const Refused& error) {
      if (error.code() != "WORKFLOW_NOT_FOUND") throw;
      body_.clear();
    }
    const std::string line = how_far();
    if (terminal_.progress != nullptr && line != told_) *terminal_.progress << printable(line) << std::endl;
    told_ = line;
  }

  std::string how_far() const {
    if (body_.empty()) return "the workflow is gone";
    const JsonView now(body_);
    std::string out = now["status"] + ", " + completed_works(now) + " works done";
    for (const JsonView& work : now.items("works"))
      if (work["status"] == "RUNNING") out += ", " + work["name"] + " runs";
    return out;
  }

  const Api& api_;
  const Terminal& terminal_;
  const std::string id_, path_;
  std::string body_, told_;
};

std::string why_not(const JsonView& saga, const std::string& act) {
  const JsonView error = saga.member("error");
  std::string out = act + " was not done";
  if (saga["status"] == "NEEDS_HELP")
    out = act + " needs help: `skald sagas show " + saga["id"] + "` says where it stands";
  if (!error["message"].empty()) out += ": " + error["message"];
  return out + (error["code"].empty() ? "" : " (" + error["code"] + ")");
}

// Of a workflow that was started or resumed.
ActEnd rested(const std::string& workflow) {
  const JsonView view = workflow.empty() ? JsonView(boost::json::value()) : JsonView(workflow);
  if (view["status"] == "COMPLETED") return {true, workflow, ""};
  std::string why = workflow.empty() ? "the workflow is gone" : "the workflow is " + view["status"];
  if (!view["error"].empty()) why += ": " + view["error"];
  if (view["status"] == "FAILED")
    why += "; `skald flow show " + view["id"] + "` says which task, and `skald flow resume` runs it anew";
  return {false, workflow, why};
}

}  // namespace

ActEnd follow_act(const Api& api, const Terminal& terminal, const std::string& workflow_id, const std::string& act) {
  Awaiting following(api, terminal, workflow_id);
  const JsonView saga = following.saga_end("agentflow." + act);
  const std::string status = saga["status"];
  if (!status.empty() && status != "COMPLETED") return {false, following.workflow(), why_not(saga, act)};
  if (act == "start" || act == "resume") {
    following.until_it_rests();
    return rested(following.workflow());
  }
  return {true, following.workflow(), ""};
}

}  // namespace skald::cli
