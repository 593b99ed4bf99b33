// For the tests of the fallback file: a folder of its own, and what a file holds.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dead_letter/fallback_file.h"

namespace skald::test {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "skald-fallback-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name = "dead-letters") const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string contents(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

inline void overwrite(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

struct Reading {
  std::vector<std::string> records;
  std::vector<std::pair<std::uint64_t, std::string>> corrupt;
};

inline Reading read(const std::string& path) {
  Reading out;
  const FallbackCounts counts = read_fallback_file(
      path, [&](std::string_view record) { out.records.emplace_back(record); },
      [&](std::uint64_t line, std::string_view why) { out.corrupt.emplace_back(line, why); });
  EXPECT_EQ(counts.records, out.records.size());
  EXPECT_EQ(counts.corrupt, out.corrupt.size());
  return out;
}

}  // namespace skald::test
