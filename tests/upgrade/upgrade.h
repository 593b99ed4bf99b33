// This version of the program beside another one.
#pragma once

#include <string>
#include <vector>

#include "chaos/storm_site.h"

namespace skald::upgrade {

struct Version {
  std::string name;     // for people
  std::string program;  // a skald
};

struct Versions {
  Version own, other;
  int seconds = 4;  // of each phase
};

using Faults = std::vector<std::string>;

// Donations and orders under way on one PostgreSQL, while two servers of `first` become two of `second`, one after
// the other, and each kind is killed in the middle: all settles, nothing is parked, the invariants of both hold.
Faults roll(const Versions& versions, const Version& first, const Version& second);

// One of two servers is asked to end under load, and the other has its work; the longest waits are printed. `bounded`:
// none of them may be as long as a lease.
Faults stop_one(const Versions& versions, const Version& version, bool bounded);

// The booking system over NATS: its services become `second` one after the other, and one of each kind is killed
// meanwhile. Both versions deliver by the post.
Faults roll_bookings(const Versions& versions, const Version& first, const Version& second);

// A schema of a later program: where its steps only add it works; where they do not it refuses, with a sentence.
Faults meet_the_future(const Version& version);

void rest_of(chaos::StormSite& site, int seconds, Faults& faults);
// Until all that was accepted has settled.
template <class Traffic>
void settle(chaos::StormSite& site, Traffic& traffic, Faults& faults) {
  traffic.end();
  const auto ended = [&] {
    site.look_after(faults);
    const auto left = site.census();
    return traffic.all_answered() && left && left->empty();
  };
  if (!crash::until(ended, 60s)) faults.push_back("something that was accepted has not settled within 60 s");
}

}  // namespace skald::upgrade
