// The net under the order of locks: sagas that wait for each other in a circle. The order
// makes none; should one come to be, its youngest gives way and is told who was before it.
#pragma once

#include <string>
#include <vector>

#include "saga/instance.h"

namespace skald::saga {

// Whether a circle could go through this saga, which has just begun to wait: it holds
// something. Whoever closes a circle is asked last, and sees all the others' waits.
bool could_close_circle(const Instance& saga);

// The roots that wait for each other, `root` the first of them; empty where it is in no circle.
std::vector<std::string> circle_through(Transaction& tx, const std::string& root);

// The wait of its youngest is over, unless a worker is at it just now. Returns its root.
std::string break_circle(Transaction& tx, const std::vector<std::string>& circle);

}  // namespace skald::saga
