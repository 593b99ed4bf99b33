// GET /agentflow/workflows/{id}/diff
#include <algorithm>

#include "agentflow/acts.h"
#include "agentflow/checkpoints.h"

namespace agentflow {
namespace {

using skald::Access;
using skald::Request;
using skald::Response;
using skald::Transaction;

constexpr std::size_t kAnswerTextMax = 1 << 20;  // bytes of all repositories together

struct DiffView {
  std::string git_id;
  std::vector<FileChange> files;
  std::string text;
  bool truncated = false;
};
BOOST_DESCRIBE_STRUCT(DiffView, (), (git_id, files, text, truncated))

// What is compared in one worktree; without an end it is what lies there now.
struct Comparison {
  TreePlan tree;
  std::string from;
  std::optional<std::string> to = {};
};

// What a work found: what the one before it has left, or what its group branched off from.
std::optional<Checkpoint> found_by(Transaction& tx, const std::vector<Work>& works, const Work& work) {
  if (work.base_checkpoint) return tx.find<Checkpoint>(*work.base_checkpoint);
  std::optional<Checkpoint> before;
  for (const Work& earlier : works) {
    if (earlier.id == work.id) break;
    if (auto found = tx.find<Checkpoint>(earlier.joined_checkpoint.value_or(earlier.id))) before = std::move(found);
  }
  return before;
}

// From what the work found to its own checkpoint, as far as there are such. One of a group that has not come back is
// seen in its own worktrees.
void narrow_to_work(Transaction& tx, const Workflow& workflow, const std::string& work_id,
                    std::vector<Comparison>& all) {
  const std::vector<Work> works = works_of(tx, workflow.id);
  const auto end = std::ranges::find(works, work_id, &Work::id);
  if (end == works.end()) throw skald::NotFound("WORK_NOT_FOUND", "the workflow has no work with this id");
  const auto before = found_by(tx, works, *end);
  const std::vector<TreePlan> trees = ready_trees(tx, *end);
  const auto own = tx.find<Checkpoint>(work_id);
  for (Comparison& one : all) {
    one.from = commit_in(before, one.tree.git_id).value_or(one.from);
    one.to = commit_in(own, one.tree.git_id);
    const auto tree = std::ranges::find(trees, one.tree.git_id, &TreePlan::git_id);
    if (tree != trees.end()) one.tree = *tree;
  }
}

std::vector<Comparison> comparisons(Transaction& tx, const Request& request) {
  const Workflow workflow = workflow_named(tx, request.param("id"));
  const auto git_id = request.query_value("git"), work_id = request.query_value("work");
  std::vector<Comparison> out;
  for (TreePlan& tree : ready_trees(tx, workflow.id))
    if (!git_id || *git_id == tree.git_id) out.push_back({tree, tree.base});
  if (git_id && out.empty()) throw skald::NotFound("GIT_NOT_FOUND", "the workflow has no worktree of this git");
  if (work_id) narrow_to_work(tx, workflow, *work_id, out);
  return out;
}

Response differences(const Flow& flow, const Request& request) {
  const auto all = flow.db().read_result([&](Transaction& tx) { return comparisons(tx, request); });
  std::vector<DiffView> out;
  std::size_t room = kAnswerTextMax;
  for (const Comparison& one : all) {
    const Tree tree{one.tree.repository, one.tree.path, one.tree.branch};
    Diff diff = flow.outside->options.repositories->diff(tree, one.from, one.to, room);
    room -= std::min(room, diff.text.size());
    out.push_back({one.tree.git_id, std::move(diff.files), std::move(diff.text), diff.truncated});
  }
  return Response::json(200, skald::Listing<DiffView>{std::move(out), {}});
}

}  // namespace

void add_diff_path(const FlowHandle& flow, skald::Router& router) {
  skald::Doc doc = skald::describe<void, skald::Listing<DiffView>>(
      "What a workflow, or one work of it, has changed, per repository", 200, {"work", "git"});
  doc.paged = false;
  router.get("/agentflow/workflows/{id}/diff", Access::admin, std::move(doc),
             [flow](const Request& request) { return differences(*flow, request); });
}

}  // namespace agentflow
