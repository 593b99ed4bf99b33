// Errors that cross a service: "KIND CODE" in the header Skald-Error, the text
// in the body.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace skald {

inline constexpr char kNatsErrorHeader[] = "Skald-Error";

struct NatsError {
  std::string header, text;
};

// Only inside of a catch block. What is not of the family in skald/error.h gets
// no text: it may tell of what is inside.
NatsError write_nats_error();
std::exception_ptr read_nats_error(std::string_view header, std::string_view text);

}  // namespace skald
