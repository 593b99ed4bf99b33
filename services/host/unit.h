// One database of an installation with the engine on it.
#pragma once

#include <memory>
#include <string>

#include "host/databases.h"
#include "skald/engine.h"

namespace skald::host {

struct Unit {
  std::string service;                // as /api names it
  std::unique_ptr<Database> database;
  std::unique_ptr<Courier> courier;   // of letters to other services, where there are such
  std::unique_ptr<Inlet> letterbox;   // and of those from them
  std::unique_ptr<Engine> engine;     // last: its threads use the others
};

}  // namespace skald::host
