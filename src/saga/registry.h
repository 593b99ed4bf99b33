// The definitions that this program knows, by type and version.
#pragma once

#include <map>
#include <string>

#include "skald/database.h"
#include "skald/saga_definition.h"
#include "store/tables/saga.h"

namespace skald::saga {

class Registry {
 public:
  // Throws Invalid (SAGA_DEFINITION) with a sentence that says what to change.
  void add(Definition definition);

  // The latest. Throws NotFound.
  const Definition& latest(const std::string& type) const;
  // Any version of it.
  bool defines(const std::string& type) const;
  // The one that a saga goes on with: the version that it began with, or the latest
  // where that declares how to get there; then row and progress are turned into its.
  const Definition& resume(tables::saga::Row& row) const;
  const std::map<std::pair<std::string, int>, Definition>& all() const { return definitions_; }

 private:
  std::map<std::pair<std::string, int>, Definition> definitions_;
};

// Throws Invalid where the definition makes no sense.
void check(const Definition& definition);

}  // namespace skald::saga
