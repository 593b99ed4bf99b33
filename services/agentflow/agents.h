// The processes of agents as this service uses them: skald::Runs, which says what each call does and what goes wrong.
//
// An interface, because the simulator has agents of its own. Thread safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skald/process.h"

namespace agentflow {

class Agents {
 public:
  virtual ~Agents() = default;

  virtual void start(const skald::RunSpec& spec) = 0;
  virtual void stop(const std::string& run, const std::string& why) = 0;
  virtual void prevent(const std::string& run, const std::string& why) = 0;
  virtual std::optional<skald::RunView> look(const std::string& run) = 0;
  virtual std::vector<std::string> list() const = 0;
  virtual std::string output(const std::string& run, std::int64_t offset, std::size_t bytes_max) const = 0;
  virtual int fd() const = 0;
  virtual std::vector<std::string> changed() = 0;
  virtual void forget(const std::string& run) = 0;
};

// Real ones: their runs lie in `folder`, `supervisor` is the command that calls skald::supervise().
std::shared_ptr<Agents> supervised_agents(const skald::Clock& clock, const std::string& folder,
                                          const std::vector<std::string>& supervisor);

}  // namespace agentflow
