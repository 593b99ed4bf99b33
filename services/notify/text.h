// What a customer reads.
#pragma once

#include <string>

#include "golf/events.h"
#include "notify/record.h"

namespace notify {

// One line of plain text. It may hold words of strangers (why somebody cancelled): escape it
// for the place where it is shown.
std::string text_of(Kind kind, const golf::BookingNews& news);

}  // namespace notify
