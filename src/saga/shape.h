// What of a definition matters to a saga in flight, as text: a line about the whole, then one
// for each step. A saga that began with one shape cannot go on with another: its progress
// counts steps, and what it has done must be undone the way it was meant to be.
//
// Functions, times, tries and locks are no part of it: they may change while sagas are in flight.
//
// Shapes are stored and compared by later programs: to write them in another way makes every
// definition look changed.
#pragma once

#include <string>
#include <string_view>

#include "skald/saga_definition.h"

namespace skald::saga {

std::string shape_of(const Definition& definition);

// Where they first differ, in words. They do.
std::string first_difference(std::string_view was, std::string_view is);

}  // namespace skald::saga
