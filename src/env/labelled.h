// The name of a metric with one label, as an Observer takes it: "post_letters_total{subscriber=notify}". Values are few and
// come from configuration or the database; a program's metrics keep a hundred of them and call the rest "other".
#pragma once

#include <string>
#include <string_view>

namespace skald {

inline std::string labelled(std::string_view metric, std::string_view label, std::string_view value) {
  std::string out(metric);
  return out.append("{").append(label).append("=").append(value).append("}");
}

}  // namespace skald
