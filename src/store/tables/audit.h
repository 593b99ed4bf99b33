// skald_audit: what operators did, and to what.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skald/database.h"

namespace skald::tables::audit {

struct Record {
  std::string id;
  Time at{};
  std::string actor, action, target, detail;
};
BOOST_DESCRIBE_STRUCT(Record, (), (id, at, actor, action, target, detail))

void insert(Transaction& tx, Random& random, std::string_view actor, std::string_view action, std::string_view target,
            std::string_view detail);
struct Filter {
  std::optional<std::string> actor, action, target;
};
std::vector<Record> list(Transaction& tx, const Filter& filter, const std::optional<std::string>& after,
                         std::size_t limit);  // newest first

}  // namespace skald::tables::audit

template <>
struct skald::Table<skald::tables::audit::Record> {
  static constexpr std::string_view name = "skald_audit", key = "id";
};
