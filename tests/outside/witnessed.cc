#include "outside/witnessed.h"

namespace skald::test {
namespace {

using agentflow::Agents;
using agentflow::Diff;
using agentflow::Integration;
using agentflow::IntegrationTrial;
using agentflow::Repositories;
using agentflow::RepositoryFacts;
using agentflow::Tree;

class WitnessedRepositories final : public Repositories {
 public:
  WitnessedRepositories(std::shared_ptr<Repositories> real, Witness witness)
      : real_(std::move(real)), witness_(std::move(witness)) {}

  void clone(const std::string& remote, const std::string& path) override {
    const auto end = witness_("git clone");
    real_->clone(remote, path);
  }
  RepositoryFacts inspect(const std::string& path) override { return real_->inspect(path); }
  std::string resolve(const std::string& repository, const std::string& name) override {
    return real_->resolve(repository, name);
  }
  void add_tree(const Tree& tree, const std::string& base) override {
    const auto end = witness_("git add_tree");
    real_->add_tree(tree, base);
  }
  void remove_tree(const Tree& tree) override {
    const auto end = witness_("git remove_tree");
    real_->remove_tree(tree);
  }
  bool has_tree(const Tree& tree) override { return real_->has_tree(tree); }
  std::string take_checkpoint(const Tree& tree, const std::string& name) override {
    const auto end = witness_("git take_checkpoint");
    return real_->take_checkpoint(tree, name);
  }
  void restore_checkpoint(const Tree& tree, const std::string& commit) override {
    const auto end = witness_("git restore_checkpoint");
    real_->restore_checkpoint(tree, commit);
  }
  void drop_checkpoints(const std::string& repository, const std::string& name) override {
    const auto end = witness_("git drop_checkpoints");
    real_->drop_checkpoints(repository, name);
  }
  Diff diff(const Tree& tree, const std::string& from, const std::optional<std::string>& to,
            std::size_t text_max) override {
    return real_->diff(tree, from, to, text_max);
  }
  std::string commit_rest(const Tree& tree, const std::string& message) override {
    const auto end = witness_("git commit_rest");
    return real_->commit_rest(tree, message);
  }
  agentflow::MergedCommit merge_commits(const std::string& repository, const std::string& base, const std::string& ours,
                                        const std::string& theirs) override {
    const auto end = witness_("git merge_commits");
    return real_->merge_commits(repository, base, ours, theirs);
  }
  IntegrationTrial try_integration(const Tree& tree, const Integration& integration) override {
    const auto end = witness_("git try_integration");
    return real_->try_integration(tree, integration);
  }
  void integrate(const Tree& tree, const Integration& integration, const IntegrationTrial& trial) override {
    const auto end = witness_("git integrate");
    real_->integrate(tree, integration, trial);
  }
  void undo_integration(const Tree& tree, const Integration& integration, const IntegrationTrial& trial) override {
    const auto end = witness_("git undo_integration");
    real_->undo_integration(tree, integration, trial);
  }

 private:
  const std::shared_ptr<Repositories> real_;
  const Witness witness_;
};

class WitnessedAgents final : public Agents {
 public:
  WitnessedAgents(std::shared_ptr<Agents> real, Witness witness)
      : real_(std::move(real)), witness_(std::move(witness)) {}

  void start(const RunSpec& spec) override {
    const auto end = witness_("agent start");
    real_->start(spec);
  }
  void stop(const std::string& run, const std::string& why) override {
    const auto end = witness_("agent stop");
    real_->stop(run, why);
  }
  void prevent(const std::string& run, const std::string& why) override {
    const auto end = witness_("agent prevent");
    real_->prevent(run, why);
  }
  std::optional<RunView> look(const std::string& run) override { return real_->look(run); }
  std::vector<std::string> list() const override { return real_->list(); }
  std::string output(const std::string& run, std::int64_t offset, std::size_t bytes_max) const override {
    return real_->output(run, offset, bytes_max);
  }
  int fd() const override { return real_->fd(); }
  std::vector<std::string> changed() override { return real_->changed(); }
  void forget(const std::string& run) override {
    const auto end = witness_("agent forget");
    real_->forget(run);
  }

 private:
  const std::shared_ptr<Agents> real_;
  const Witness witness_;
};

}  // namespace

std::shared_ptr<Repositories> witnessed(std::shared_ptr<Repositories> real, Witness witness) {
  return std::make_shared<WitnessedRepositories>(std::move(real), std::move(witness));
}

std::shared_ptr<Agents> witnessed(std::shared_ptr<Agents> real, Witness witness) {
  return std::make_shared<WitnessedAgents>(std::move(real), std::move(witness));
}

}  // namespace skald::test
