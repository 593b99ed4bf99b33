// What must hold of the post between services when all is over, and how to help what waits for a person.
#pragma once

#include <span>
#include <string>

#include "sim/faulty_database.h"
#include "sim/stage.h"
#include "skald/engine.h"

namespace skald::sim {

struct PostEnd {
  std::string name;
  sqlite::SqliteDatabase& disk;
};

// What is still owed or under way at a service; empty: nothing.
std::string unfinished_events(const PostEnd& service);

// Where a sender has settled something else than its receiver has landed; empty: nowhere.
std::string lanes_apart(std::span<const PostEnd> services, Random& random);

// The service's dead letters go on; false: there are none.
bool replay_dead(Stage& stage, sqlite::SqliteDatabase& disk, FaultyDatabase& db, Engine& engine);

}  // namespace skald::sim
