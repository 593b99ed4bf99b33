// One database of an installation with the engine on it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bus/in_process/in_process_bus.h"
#include "host/databases.h"
#include "skald/engine.h"

namespace skald::host {

struct Unit {
  std::string service;                          // as /api names it
  std::unique_ptr<Database> database;
  std::unique_ptr<InProcessBus> bus;            // to the other units of this process
  std::unique_ptr<Bus> outlet;                  // to other processes
  std::vector<std::unique_ptr<Inlet>> inlets;   // and from them
  std::unique_ptr<Engine> engine;               // last: its threads use the others
};

}  // namespace skald::host
