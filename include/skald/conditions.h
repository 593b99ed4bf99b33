// A WHERE of only those conditions that are asked for, so that each can use its index.
//
//   Conditions conditions;
//   if (status) conditions.add("status = " + conditions.bind(*status));
//   const std::string limit = conditions.bind(page.limit + 1);
//   tx.select<Order>(conditions.where() + " ORDER BY id LIMIT " + limit, conditions.params());
#pragma once

#include <span>
#include <string>
#include <vector>

#include "skald/row.h"

namespace skald {

class Conditions {
 public:
  // A placeholder for the parameter, which must live until the statement has run.
  std::string bind(Param param) {
    params_.push_back(param);
    return "$" + std::to_string(params_.size());
  }
  void add(const std::string& condition) { where_ += (where_.empty() ? "WHERE " : " AND ") + condition; }

  const std::string& where() const { return where_; }
  std::span<const Param> params() const { return params_; }

 private:
  std::string where_;
  std::vector<Param> params_;
};

}  // namespace skald
