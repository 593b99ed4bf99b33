// What skald doctor says of the letters between services.
#pragma once

#include "cli/api.h"
#include "cli/doctor_findings.h"
#include "skald/time.h"

namespace skald::cli {

// Throws what ask() throws.
void check_post(const Api& api, Time now, Findings& out);

}  // namespace skald::cli
