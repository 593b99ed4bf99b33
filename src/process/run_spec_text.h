// A RunSpec on its way from the starter to the supervisor. It never touches the disk: it may hold secrets. Words may be
// any bytes, so it is no JSON.
#pragma once

#include <string>
#include <string_view>

#include "process/descriptor.h"
#include "skald/process.h"

namespace skald::process {

std::string spec_text(const RunSpec& spec);
// Malformed (BAD_RUN_SPEC) where it is not whole.
RunSpec spec_of(std::string_view text);

// A file in memory that holds this text, to be read from its beginning. Unavailable (NO_PROCESS).
Descriptor memory_file(std::string_view text);

}  // namespace skald::process
