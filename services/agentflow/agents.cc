#include "agentflow/agents.h"

#include <filesystem>

namespace agentflow {
namespace {

class SupervisedAgents final : public Agents {
 public:
  SupervisedAgents(const skald::Clock& clock, const std::string& folder, const std::vector<std::string>& supervisor)
      : runs_(clock, folder, supervisor) {}

  void start(const skald::RunSpec& spec) override { runs_.start(spec); }
  void stop(const std::string& run, const std::string& why) override { runs_.stop(run, why); }
  void prevent(const std::string& run, const std::string& why) override { runs_.prevent(run, why); }
  std::optional<skald::RunView> look(const std::string& run) override { return runs_.look(run); }
  std::vector<std::string> list() const override { return runs_.list(); }
  std::string output(const std::string& run, std::int64_t offset, std::size_t bytes_max) const override {
    return runs_.output(run, offset, bytes_max);
  }
  int fd() const override { return runs_.fd(); }
  std::vector<std::string> changed() override { return runs_.changed(); }
  void forget(const std::string& run) override { runs_.forget(run); }

 private:
  skald::Runs runs_;
};

}  // namespace

std::shared_ptr<Agents> supervised_agents(const skald::Clock& clock, const std::string& folder,
                                          const std::vector<std::string>& supervisor) {
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path());
  return std::make_shared<SupervisedAgents>(clock, folder, supervisor);
}

}  // namespace agentflow
