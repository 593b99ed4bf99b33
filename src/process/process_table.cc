#include "process/process_table.h"

#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

#include "process/descriptor.h"
#include "process/small_file.h"

namespace skald::process {

// PID (NAME) STATE PPID PGRP SESSION … and the start time as the 22nd; NAME may hold anything, also ')'.
std::optional<ProcessRow> process_row(pid_t pid) {
  const auto text = read_small_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = text ? text->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) return std::nullopt;
  ProcessRow row{.pid = pid};
  long long started = 0;
  const int read = std::sscanf(text->c_str() + name_end + 1,
                               " %c %d %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld",
                               &row.state, &row.parent, &row.group, &row.session, &started);
  if (read != 5) return std::nullopt;
  row.started = started;
  return row;
}

std::vector<ProcessRow> all_processes() {
  std::vector<ProcessRow> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  if (!folder) return out;
  while (const dirent* entry = readdir(folder.get()))
    if (const pid_t pid = std::atoi(entry->d_name); pid > 0)
      if (const auto row = process_row(pid)) out.push_back(*row);
  return out;
}

std::vector<ProcessRow> descendants_of(pid_t pid) {
  const std::vector<ProcessRow> all = all_processes();
  std::set<pid_t> family = {pid};
  std::vector<ProcessRow> out;
  for (std::size_t before = 0; before != family.size();) {
    before = family.size();
    for (const ProcessRow& row : all)
      if (family.contains(row.parent) && family.insert(row.pid).second) out.push_back(row);
  }
  return out;
}

bool was_given(pid_t pid, std::string_view variable) {
  const auto text = read_small_file("/proc/" + std::to_string(pid) + "/environ");
  if (!text) return false;
  const std::string wanted = std::string(1, '\0') + std::string(variable) + '\0';
  return (std::string(1, '\0') + *text + '\0').find(wanted) != std::string::npos;
}

void kill_exactly(const ProcessRow& row) {
  const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, row.pid, 0)));
  const auto now = process ? process_row(row.pid) : std::nullopt;
  if (now && now->started == row.started) syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
}

std::string boot_id() { return read_small_file("/proc/sys/kernel/random/boot_id").value_or(""); }

bool group_lives(pid_t group) {
  if (kill(-group, 0) != 0) return false;
  const std::vector<ProcessRow> all = all_processes();
  return std::any_of(all.begin(), all.end(), [&](const ProcessRow& row) { return row.group == group && !row.dead(); });
}

}  // namespace skald::process
