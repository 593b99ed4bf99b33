#include "donation.h"

#include <fmt/format.h>

namespace bench {

std::string donation_id(std::int64_t number) { return fmt::format("01KBENCH{:018}", number); }

}  // namespace bench
