// Lines of the log as all services of the booking system write them: a tag that says which
// part speaks, the booking (its id is its saga's), and what else there is to know.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "skald/env.h"
#include "skald/json.h"

namespace golf {

inline void log(skald::Env env, std::string_view tag, std::string_view message, std::string_view booking_id,
                std::initializer_list<std::pair<std::string_view, std::string>> more = {},
                skald::Observer::Level level = skald::Observer::Level::info) {
  std::string fields;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!fields.empty()) fields += ',';
    skald::json::write_string(fields, name);
    fields += ':';
    skald::json::write_string(fields, value);
  };
  add("tag", tag);
  if (!booking_id.empty()) {
    add("bookingId", booking_id);
    add("sagaId", booking_id);
  }
  for (const auto& [name, value] : more) add(name, value);
  env.observer.log(level, message, fields);
}

}  // namespace golf
