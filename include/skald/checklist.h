// What must hold of a service at any time, checked now: the answer of GET …/invariants.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/database.h"
#include "skald/json.h"

namespace skald {

struct Check {
  std::string name;
  bool ok = true;
  std::string detail;
};
BOOST_DESCRIBE_STRUCT(Check, (), (name, ok, detail))

struct Invariants {
  bool ok = true;
  std::vector<Check> checks;
};
BOOST_DESCRIBE_STRUCT(Invariants, (), (ok, checks))

// "a, b": the first ten, for a person.
inline std::string first_of(const std::vector<std::string>& names) {
  constexpr std::size_t told = 10;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), told); ++i) out += (i == 0 ? "" : ", ") + names[i];
  return names.size() > told ? out + ", …" : out;
}

class Checklist {
 public:
  // Holds where nothing offends; `what` says what would.
  void none(std::string name, std::int64_t offences, const std::string& what) {
    add(std::move(name), offences == 0, offences == 0 ? "none: " + what : std::to_string(offences) + ": " + what);
  }
  // The same of offenders that have names; the first are told.
  void none(std::string name, const std::vector<std::string>& offenders, const std::string& what) {
    none(std::move(name), static_cast<std::int64_t>(offenders.size()),
         offenders.empty() ? what : what + ": " + first_of(offenders));
  }
  // `sql` gives the names of what offends; a thousand are enough.
  void nobody(std::string name, Transaction& tx, std::string_view sql, const std::string& what) {
    const Rows rows = tx.query(std::string(sql) + " LIMIT 1000");
    std::vector<std::string> offenders;
    for (std::size_t i = 0; i < rows.size(); ++i) offenders.push_back(rows.get<std::string>(i, 0));
    none(std::move(name), offenders, what);
  }
  // `sql` counts what offends.
  void none(std::string name, Transaction& tx, std::string_view sql, const std::string& what) {
    none(std::move(name), tx.query(sql).get<std::int64_t>(0, 0), what);
  }
  void add(std::string name, std::same_as<bool> auto ok, std::string detail) {
    add({std::move(name), ok, std::move(detail)});
  }
  void add(Check check) {
    result_.ok = result_.ok && check.ok;
    result_.checks.push_back(std::move(check));
  }
  Invariants take() { return std::move(result_); }

 private:
  Invariants result_;
};

}  // namespace skald
