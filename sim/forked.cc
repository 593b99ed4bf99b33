#include "sim/forked.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace skald::sim {
namespace {

struct Child {
  pid_t pid = -1;
  int pipe = -1;
  std::string rest;  // of a line that has not ended yet
};

Child start(int worker, const std::function<void(int, const Say&)>& work) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  const pid_t pid = ::fork();
  if (pid < 0) std::abort();
  if (pid > 0) {
    ::close(ends[1]);
    return {pid, ends[0], {}};
  }
  ::close(ends[0]);
  work(worker, [&](const std::string& line) {
    const std::string whole = line + "\n";
    for (std::size_t sent = 0; sent < whole.size();) {
      const ssize_t count = ::write(ends[1], whole.data() + sent, whole.size() - sent);
      if (count <= 0) ::_exit(2);
      sent += static_cast<std::size_t>(count);
    }
  });
  ::_exit(0);
}

// False at the end of its lines, or where the hearer has heard enough.
bool hear_from(Child& child, const std::function<bool(const std::string&)>& hear, bool& enough) {
  char buffer[4096];
  const ssize_t count = ::read(child.pipe, buffer, sizeof buffer);
  if (count <= 0) return false;
  child.rest.append(buffer, static_cast<std::size_t>(count));
  for (std::size_t end; (end = child.rest.find('\n')) != std::string::npos && !enough;) {
    enough = !hear(child.rest.substr(0, end));
    child.rest.erase(0, end + 1);
  }
  return !enough;
}

}  // namespace

bool run_forked(int jobs, const std::function<void(int worker, const Say& say)>& work,
                const std::function<bool(const std::string& line)>& hear) {
  std::vector<Child> children;
  for (int worker = 0; worker < jobs; ++worker) children.push_back(start(worker, work));
  std::size_t open = children.size();
  bool enough = false;
  while (open > 0 && !enough) {
    std::vector<pollfd> ready;
    for (const Child& child : children) ready.push_back({child.pipe, POLLIN, 0});
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;
    for (std::size_t i = 0; i < ready.size() && !enough; ++i) {
      if (ready[i].fd < 0 || ready[i].revents == 0) continue;
      if (hear_from(children[i], hear, enough) || enough) continue;
      ::close(children[i].pipe);
      children[i].pipe = -1;
      --open;
    }
  }
  bool whole = true;
  for (const Child& child : children) {
    if (enough) ::kill(child.pid, SIGTERM);
    int status = 0;
    ::waitpid(child.pid, &status, 0);
    whole = whole && (enough || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
  return whole;
}

}  // namespace skald::sim
