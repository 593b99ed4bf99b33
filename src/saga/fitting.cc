#include "saga/fitting.h"

#include <algorithm>

#include "saga/shape.h"
#include "store/tables/definition.h"

namespace skald::saga {
namespace {

using tables::saga::InFlight;

std::string ids_of(const InFlight& flying) {
  std::string out;
  for (const std::string& id : flying.ids) out += (out.empty() ? "" : ", ") + id;
  return out + (static_cast<std::size_t>(flying.count) > flying.ids.size() ? ", …" : "");
}

std::string name_of(const std::string& type, int version) {
  return "'" + type + "' version " + std::to_string(version);
}

[[noreturn]] void refuse_missing(const InFlight& flying) {
  throw Invalid("SAGA_VERSION", "sagas of " + name_of(flying.type, flying.version) +
                                    " are in flight and nothing here can go on with them (" + ids_of(flying) +
                                    "): keep that version added beside the new one");
}

[[noreturn]] void refuse_changed(const InFlight& flying, const std::string& difference) {
  throw Invalid("SAGA_VERSION", "the definition of " + name_of(flying.type, flying.version) +
                                    " is another than the one that sagas in flight began with (" + ids_of(flying) +
                                    "): " + difference +
                                    "; give the new one a higher version() and keep the old one added beside it, with "
                                    "migrates_from() if those in flight shall go on with the new one");
}

void keep_shape(Transaction& tx, const Definition& definition, const std::vector<InFlight>& in_flight) {
  const std::string is = shape_of(definition);
  const auto was = tables::definition::shape(tx, definition.type, definition.version);
  if (was == is) return;
  const auto flying = std::ranges::find_if(
      in_flight, [&](const InFlight& one) { return one.type == definition.type && one.version == definition.version; });
  if (was && flying != in_flight.end()) refuse_changed(*flying, first_difference(*was, is));
  tables::definition::put(tx, definition.type, definition.version, is);
}

}  // namespace

std::vector<InFlight> fit_in_flight(Transaction& tx, const Registry& registry) {
  tables::definition::enter(tx);
  const std::vector<InFlight> in_flight = tables::saga::in_flight(tx);
  std::vector<InFlight> strangers;
  for (const InFlight& flying : in_flight) {
    if (!registry.defines(flying.type)) strangers.push_back(flying);
    else if (!registry.all().contains({flying.type, flying.version})) refuse_missing(flying);
  }
  for (const auto& [name, definition] : registry.all()) keep_shape(tx, definition, in_flight);
  return strangers;
}

}  // namespace skald::saga
