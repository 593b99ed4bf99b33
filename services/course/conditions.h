// A WHERE of only those conditions that are asked for, so that each can use its index.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "skald/row.h"

namespace course {

class Conditions {
 public:
  // A placeholder for the parameter, which must live until the statement has run.
  std::string bind(skald::Param param) {
    params_.push_back(param);
    return "$" + std::to_string(params_.size());
  }
  void add(const std::string& condition) { where_ += (where_.empty() ? "WHERE " : " AND ") + condition; }

  const std::string& where() const { return where_; }
  std::span<const skald::Param> params() const { return params_; }

 private:
  std::string where_;
  std::vector<skald::Param> params_;
};

}  // namespace course
