#include <cstdio>

#include "upgrade/upgrade.h"

namespace skald::upgrade {
namespace {

// What a later program would have done to the schema: a step of each component, which programs before `oldest` cannot
// live with.
void alter(const std::string& url, int version, int oldest) {
  const auto clock = system_clock();
  const auto random = system_random();
  open_postgres({*clock, *random, silent_observer()}, {.url = url})->write("alter", [&](Transaction& tx) {
    tx.execute(
        "INSERT INTO skald_schema (component, version, name, checksum, oldest_program, applied_at) SELECT DISTINCT "
        "component, $1::bigint, 'later', '', $2::bigint, 0 FROM skald_schema",
        version, oldest);
  });
}

bool serves(chaos::StormSite& site) {
  const auto ready = site.ask(0, "GET", "/readyz");
  return ready && ready->status == 200;
}

}  // namespace

Faults meet_the_future(const Version& version) {
  std::printf("%s and a schema that is newer\n", version.name.c_str());
  Faults faults;
  chaos::StormSite site({.dialect = Dialect::postgres, .workers = 1, .program = version.program});
  if (!crash::until([&] { return serves(site); }, 30s)) faults.push_back("it does not serve");
  site.end(0);
  alter(site.database_url(), 9998, 1);
  site.start_as(0, version.program);
  if (!crash::until([&] { return serves(site); }, 30s))
    faults.push_back("it refuses a schema to which something was added: " + site.server(0).last_words());
  site.end(0);
  alter(site.database_url(), 9999, 9999);
  site.start_as(0, version.program);
  std::optional<int> status;
  crash::until([&] { return (status = site.server(0).ended()).has_value(); }, 30s);
  const std::string words = site.server(0).last_words();
  const auto said = words.rfind("SCHEMA_NEWER");
  if (!status || *status == 0 || said == words.npos) {
    faults.push_back("it works on a schema that it cannot know: " + words);
  } else {
    const auto line = words.rfind('\n', said) + 1;
    std::printf("  it says: %s\n", words.substr(line, words.find('\n', said) - line).c_str());
  }
  return faults;
}

}  // namespace skald::upgrade
