#include "host/span_export.h"

namespace skald::host {
namespace {

// Within what is left of the program's 10 s to stop.
constexpr Duration kFlush = 1500ms;

OtlpOptions otlp_options(const cli::Settings& settings) {
  OtlpOptions out;
  out.endpoint = settings.text("otlp.endpoint");
  out.headers = settings.text("otlp.headers");
  out.resource = {settings.text("otlp.service"), SKALD_VERSION};
  if (out.resource.service.empty()) out.resource.service = settings.text("services");
  if (out.resource.service == "all") out.resource.service = "skald";
  return out;
}

}  // namespace

SpanExport::SpanExport(Program& program) : program_(program) {
  if (program.settings.text("otlp.endpoint").empty()) return;
  try {
    tracing_ = std::make_unique<runtime::Tracing>(program.env, otlp_options(program.settings));
  } catch (const Invalid& error) {
    const bool headers = error.code() == "OTLP_HEADERS";
    throw Invalid("BAD_SETTING", std::string(headers ? "otlp.headers: " : "otlp.endpoint: ") + error.what());
  }
  program.observer.export_to(&tracing_->spans());
}

SpanExport::~SpanExport() {
  program_.observer.export_to(nullptr);
  if (tracing_) tracing_->stop(kFlush);
}

}  // namespace skald::host
