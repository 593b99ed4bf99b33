// GET /agentflow/works/{id}/output: what the agents of a work write, as they write it
#include "agentflow/flow.h"
#include "agentflow/watching.h"
#include "skald/http.h"

namespace agentflow {
namespace {

using skald::Request;

OutputPlace place_in(const Request& request) {
  const std::string_view id = request.header("last-event-id");
  if (id.empty()) return {};
  const auto place = place_of(id);
  if (!place) throw skald::Invalid("BAD_POSITION", "Last-Event-ID is not one that this stream has given");
  return *place;
}

class OutputStream {
 public:
  OutputStream(const FlowHandle& flow, const std::string& work_id, const OutputPlace& place)
      : place_(place), reading_(flow->watching->works.of(work_id, [&db = flow->db(), work_id](const WatchedWork*) {
          return read_watched(db, work_id);
        })) {
    source_.read = [flow](const std::string& run, std::int64_t offset, std::size_t bytes_max) {
      return flow->outside->agents().output(run, offset, bytes_max);
    };
    source_.lives = [flow](const std::string& run) {
      const auto seen = flow->outside->agents().look(run);
      return seen && !seen->end && seen->pid != 0;
    };
    if (reading_->get()->gone) throw skald::NotFound("WORK_NOT_FOUND", "there is no work with this id");
  }

  // The work is looked at first: what its agent wrote before its end is then there to be read.
  std::optional<std::string> next() {
    const auto work = reading_->get();
    return next_output(*work, place_, end_told_, source_);
  }

 private:
  OutputPlace place_;
  bool end_told_ = false;
  std::shared_ptr<SharedReading<WatchedWork>> reading_;
  OutputSource source_;
};

}  // namespace

void add_output_path(const FlowHandle& flow, skald::Router& router) {
  skald::Doc doc = skald::describe<void, void>("What the agents of a work write, as they write it");
  doc.content_type = "text/event-stream";
  router.stream("/agentflow/works/{id}/output", skald::Access::admin, doc, [flow](const Request& request) {
    const auto stream = std::make_shared<OutputStream>(flow, request.param("id"), place_in(request));
    return skald::Stream{std::string(kOutputTopic), [stream] { return stream->next(); }, true};
  });
}

}  // namespace agentflow
