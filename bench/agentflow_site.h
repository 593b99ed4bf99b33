// The agentflow service in this process, on a SQLite file with real syncs, with real git and real agents; what git takes
// is noted.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agentflow/agentflow.h"
#include "agentflow/views.h"
#include "http/router.h"
#include "measure.h"

namespace bench {

class AgentflowSite {
 public:
  explicit AgentflowSite(int agents_max);
  ~AgentflowSite();
  AgentflowSite(const AgentflowSite&) = delete;
  AgentflowSite& operator=(const AgentflowSite&) = delete;

  // A repository of that many files, registered; its id.
  std::string add_git(int files);
  const std::string& repository() const { return repository_; }
  // A workflow whose works have a task each, which is the script; its id.
  std::string create(const std::string& git_id, int works, const std::string& script);
  void start(const std::string& id);
  agentflow::WorkflowView show(const std::string& id);
  std::vector<agentflow::WorkView> works(const std::string& id);
  std::string output(const std::string& work_id, std::size_t offset);
  // Throws where it takes longer than that.
  void until(const std::string& what, double seconds, const std::function<bool()>& holds);
  std::int64_t count(const std::string& sql);

  // A call of git or of agents that has ended, by the names of outside/witnessed.h.
  struct Call {
    std::string name;
    std::int64_t from_ns, to_ns;
  };
  std::vector<Call> calls();

 private:
  std::string answer(const std::string& method, const std::string& path, const std::string& body, int expected,
                     const std::string& offset = "");
  std::shared_ptr<void> witness(std::string_view call);
  void git(const std::vector<std::string>& words) const;

  std::unique_ptr<skald::Clock> clock_ = skald::system_clock();
  std::unique_ptr<skald::Random> random_ = skald::system_random();
  skald::Env env_{*clock_, *random_, skald::silent_observer()};
  ScratchFolder folder_;
  std::string repository_ = folder_.path() + "/repository";
  std::mutex mutex_;  // guards calls_
  std::vector<Call> calls_;
  std::unique_ptr<skald::Database> db_;
  skald::http::Routes routes_;
  std::shared_ptr<void> service_;
  std::unique_ptr<skald::Engine> engine_;
};

}  // namespace bench
