#include "process/process_table.h"

#include <dirent.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "process/small_file.h"

namespace skald::process {

// PID (NAME) STATE PPID PGRP … and the start time as the 22nd; NAME may hold anything, also ')'.
std::optional<ProcessRow> process_row(pid_t pid) {
  const auto text = read_small_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = text ? text->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) return std::nullopt;
  ProcessRow row{.pid = pid};
  long long started = 0;
  const int read = std::sscanf(text->c_str() + name_end + 1,
                               " %c %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld",
                               &row.state, &row.parent, &row.group, &started);
  if (read != 4) return std::nullopt;
  row.started = started;
  return row;
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  if (!folder) return out;
  while (const dirent* entry = readdir(folder.get()))
    if (const pid_t pid = std::atoi(entry->d_name); pid > 0) out.push_back(pid);
  return out;
}

bool group_lives(pid_t group) {
  if (kill(-group, 0) != 0) return false;
  const std::vector<pid_t> all = all_processes();
  return std::any_of(all.begin(), all.end(), [&](pid_t pid) {
    const auto row = process_row(pid);
    return row && row->group == group && !row->dead();
  });
}

}  // namespace skald::process
