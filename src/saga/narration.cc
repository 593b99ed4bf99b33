#include "saga/narration.h"

#include "base/text.h"

namespace skald::saga {
namespace {

constexpr std::size_t kErrorBytesMax = 500;

class Line {
 public:
  explicit Line(const Instance& saga) : fields_("\"tag\":\"[Saga]\"") {
    add("sagaId", saga.row.id);
    add("type", saga.row.type);
    if (!saga.row.key.empty()) add("key", saga.row.key);
  }
  Line& add(std::string_view name, std::string_view value) {
    begin(name);
    json::write_string(fields_, value);
    return *this;
  }
  Line& add(std::string_view name, std::int64_t value) {
    begin(name);
    fields_ += std::to_string(value);
    return *this;
  }
  Line& add(const Failure& failure) {
    return add("step", failure.step).add("code", failure.code).add("error", cut_text(failure.message, kErrorBytesMax));
  }
  const std::string& fields() const { return fields_; }

 private:
  void begin(std::string_view name) {
    fields_ += ',';
    json::write_string(fields_, name);
    fields_ += ':';
  }
  std::string fields_;
};

std::string_view words_for(const Trouble& trouble) {
  if (trouble.kind == Trouble::Kind::stale) return "what a saga has read has changed: it reads again";
  if (trouble.shortage || trouble.failure.code == "BUSY") return "what a saga needs is busy: it tries again";
  if (trouble.kind == Trouble::Kind::unknown) return "a saga's call has no answer: it is asked again";
  return "a step of a saga failed: it is tried again";
}

}  // namespace

void narrate(Observer& observer, const Instance& before, const Instance& saga, After after,
             std::optional<Duration> wakes_in) {
  const bool turned_back = saga.progress.undoing && saga.progress.failure && !before.progress.undoing;
  for (const Hardship& met : saga.hardships) {
    const bool is_told_below = turned_back || after != After::wait;  // or where the saga needs help
    if (met.trouble.kind == Trouble::Kind::refusal && is_told_below) continue;
    Line line(saga);
    line.add(met.trouble.failure).add("attempt", met.attempt);
    if (after == After::wait && wakes_in)
      line.add("againInMs", std::chrono::duration_cast<std::chrono::milliseconds>(*wakes_in).count());
    observer.log(Observer::Level::warn, words_for(met.trouble), line.fields());
  }
  if (saga.progress.queued && !before.progress.queued)
    observer.log(Observer::Level::info, "what a saga needs is busy: it waits for its turn",
                 Line(saga).add("resource", saga.progress.queued->resource + " " + saga.progress.queued->key).fields());
  if (turned_back)
    observer.log(Observer::Level::warn, "a saga failed: what it did is undone",
                 Line(saga).add(*saga.progress.failure).fields());
  if (after == After::ended && saga.progress.undoing)
    observer.log(Observer::Level::info, "a saga is compensated", Line(saga).add("code", saga.row.error_code).fields());
}

}  // namespace skald::saga
