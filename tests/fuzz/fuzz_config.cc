// Any text as a settings file: settings, or a refusal that names what is wrong.
#include <cstdlib>

#include "cli/settings.h"
#include "skald/error.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace skald;
  try {
    const cli::Values values =
        cli::read_settings_file(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
    const cli::Settings settings(values, {}, {});
    if (settings.text("listen").empty()) std::abort();
  } catch (const Invalid& error) {
    if (std::string_view(error.what()).empty()) std::abort();
  }
  return 0;
}
