// GET /agentflow/workflows/{id}/story · GET …/{id}/events, which goes on as it happens
#include <charconv>

#include "agentflow/acts.h"
#include "agentflow/events.h"
#include "agentflow/listing.h"
#include "agentflow/watching.h"

namespace agentflow {
namespace {

using skald::Access;
using skald::Page;
using skald::Request;
using skald::Transaction;

constexpr std::size_t kRowsMax = 100, kTextMax = 64 * 1024;  // of one part of a stream

struct HappeningView {
  std::int64_t position = 0;
  skald::Time at{};
  std::string type;
  skald::RawJson payload;
};
BOOST_DESCRIBE_STRUCT(HappeningView, (), (position, at, type, payload))

std::optional<std::int64_t> position_in(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || out < 0) return std::nullopt;
  return out;
}

// Where the client was the last time.
std::int64_t seen_by(const Request& request) {
  std::string text(request.header("last-event-id"));
  if (text.empty()) text = request.query_value("after").value_or("0");
  const auto position = position_in(text);
  if (!position)
    throw skald::Invalid("BAD_POSITION", "after, and Last-Event-ID, are the position of an event: a number, 0 or more");
  return *position;
}

class HistoryStream {
 public:
  HistoryStream(FlowHandle flow, std::string workflow_id, std::int64_t seen)
      : flow_(std::move(flow)), id_(std::move(workflow_id)), seen_(seen) {
    reading_ = flow_->watching->tails.of(
        id_, [&db = flow_->db(), id = id_](const HistoryTail* before) { return read_tail(db, id, before); });
    // A position that has not been yet would wait for it in silence.
    seen_ = std::min(seen_, reading_->get()->last);
  }

  std::optional<std::string> next() {
    if (ended_) return std::nullopt;
    const auto tail = reading_->get();
    std::string text;
    if (seen_ < tail->floor()) text = catch_up(tail->floor());
    if (text.empty()) text = take(*tail);
    if (!text.empty() || !tail->gone) return text;
    ended_ = true;
    return sse_text({.workflow_id = id_,
                     .position = seen_ + 1,
                     .event_id = {},
                     .at = flow_->env.clock.now(),
                     .type = std::string(kWorkflowDeleted),
                     .payload = {"{\"workflowId\":" + skald::to_json(id_) + "}"}});
  }

 private:
  // What is not in memory any more. What is not kept any more is passed over.
  std::string catch_up(std::int64_t floor) {
    std::string text;
    const auto rows = flow_->db().read_result([&](Transaction& tx) { return history_after(tx, id_, seen_, kRowsMax); });
    for (const Happening& one : rows) {
      if (text.size() >= kTextMax) break;
      text += sse_text(one);
      seen_ = one.position;
    }
    if (rows.empty()) seen_ = floor;
    return text;
  }

  std::string take(const HistoryTail& tail) {
    std::string text;
    for (const auto& line : tail.lines) {
      if (line->position <= seen_) continue;
      if (text.size() >= kTextMax) break;
      text += line->text;
      seen_ = line->position;
    }
    return text;
  }

  FlowHandle flow_;
  std::string id_;
  std::int64_t seen_;
  std::shared_ptr<SharedReading<HistoryTail>> reading_;
  bool ended_ = false;
};

skald::Response story(const Flow& flow, const Request& request) {
  const Page page = Page::of(request);
  const auto after = page.cursor ? position_in(page.after(1)[0]) : std::optional<std::int64_t>(0);
  if (!after) throw skald::Invalid("BAD_CURSOR", "cursor is not one that this list has given; start again without it");
  const auto rows = flow.db().read_result([&](Transaction& tx) {
    return history_after(tx, workflow_named(tx, request.param("id")).id, *after, page.limit + 1);
  });
  std::vector<HappeningView> views;
  for (const Happening& one : rows) views.push_back({one.position, one.at, one.type, one.payload});
  return skald::Response::json(200, page.cut(std::move(views), [](const HappeningView& last) {
    return Page::cursor_at({std::to_string(last.position)});
  }));
}

}  // namespace

void add_story_paths(const FlowHandle& flow, skald::Router& router) {
  router.get("/agentflow/workflows/{id}/story", Access::admin,
             skald::describe<void, skald::Listing<HappeningView>>("What happened to a workflow, in order"),
             [flow](const Request& request) { return story(*flow, request); });
  skald::Doc doc = skald::describe<void, void>("What happens to a workflow, as it happens", 200, {"after"});
  doc.content_type = "text/event-stream";
  router.stream("/agentflow/workflows/{id}/events", Access::admin, doc, [flow](const Request& request) {
    const std::int64_t seen = seen_by(request);
    const std::string id =
        flow->db().read_result([&](Transaction& tx) { return workflow_named(tx, request.param("id")).id; });
    const auto stream = std::make_shared<HistoryStream>(flow, id, seen);
    return skald::Stream{story_topic(id), [stream] { return stream->next(); }, true};
  });
}

}  // namespace agentflow
