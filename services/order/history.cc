#include "order/history.h"

namespace order {
namespace {

std::string fields_of(const skald::Local& step, const std::string& order_id, const std::optional<std::string>& detail) {
  std::string out = "\"tag\":\"[Saga]\"";
  const auto add = [&](std::string_view name, std::string_view value) {
    out += ',';
    skald::json::write_string(out, name);
    out += ':';
    skald::json::write_string(out, value);
  };
  add("orderId", order_id);
  add("sagaId", step.saga_id());
  add("step", step.context().step);
  if (detail) add("detail", *detail);
  return out;
}

}  // namespace

void Journal::note(skald::Local& step, const std::string& order_id, std::string_view what,
                   const std::optional<std::string>& detail) const {
  order::note(step.tx(), order_id, step.saga_id(), what, detail);
  const auto level = what.ends_with("FAILED") ? skald::Observer::Level::warn : skald::Observer::Level::info;
  step->after_commit([&observer = observer_, level, message = "order " + std::string(what),
                      fields = fields_of(step, order_id, detail)] { observer.log(level, message, fields); });
}

}  // namespace order
