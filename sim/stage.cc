#include "sim/stage.h"

#include <unistd.h>

#include <filesystem>

namespace skald::sim {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(std::uint64_t seed) {
  const fs::path memory = "/dev/shm";
  const fs::path base = fs::is_directory(memory) ? memory : fs::temp_directory_path();
  path_ = (base / ("skald-sim-" + std::to_string(::getpid()) + "-" + std::to_string(seed))).string();
  fs::create_directories(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace skald::sim
