#include "crash/agentflow_stories.h"

#include <algorithm>

namespace skald::crash {
namespace {

using agentflow::IntegrationStatus;
using agentflow::WorkflowStatus;
using agentflow::WorkStatus;

constexpr const char* kBoth = "for name in one two; do ";

// A line in a file of both worktrees.
std::string adds(const std::string& file, const std::string& line) {
  return kBoth + ("echo " + line + " >> $SKALD_SPACE/$name/" + file + "; done");
}

std::string waits_for_gate(const FlowTelling& telling) {
  return "while [ ! -e " + telling.gate() + " ]; do sleep 0.02; done";
}

void two_works(FlowTelling& telling) {
  telling.create({{adds("new.txt", "a"), adds("new.txt", "b")}, {adds("new.txt", "c"), adds("new.txt", "d")}});
}

void completed(FlowTelling& telling) {
  two_works(telling);
  telling.runs_to_its_end();
}

void with_running_agent(FlowTelling& telling) {
  telling.create({{adds("new.txt", "a"), waits_for_gate(telling)}, {adds("new.txt", "c")}});
  telling.act("start");
  telling.wait_for("the agent", [&] { return telling.log().size() == 3; });
}

// Each work's checkpoint is what the work left.
void expect_checkpoints(FlowTelling& telling) {
  const std::string texts[] = {"a\nb", "a\nb\nc\nd"};
  const auto works = telling.works();
  for (std::size_t i = 0; i < works.size(); ++i)
    for (const char* name : {"one", "two"}) {
      const std::string ref = "refs/skald/" + telling.workflow() + "/" + works[i].id + ":new.txt";
      const std::string kept = telling.scene().git(telling.scene().path(name), {"show", ref});
      telling.expect(kept == texts[i], "a checkpoint holds " + kept + " instead of " + texts[i]);
    }
}

FlowStory life() {
  return {"Life", [](FlowTelling&) {},
          [](FlowTelling& telling) {
            two_works(telling);
            telling.runs_to_its_end();
          },
          [](FlowTelling& telling) {
            telling.expect_begun("1 1 1 1");
            expect_checkpoints(telling);
            telling.expect(telling.checkpoints().size() == 2, "there are not two checkpoints");
          }};
}

FlowStory deleted() {
  return {"Deleted", completed,
          [](FlowTelling& telling) {
            telling.remove();
            telling.settle();
          },
          [](FlowTelling&) {}};
}

FlowStory paused() {
  return {"PausedAndResumed", with_running_agent,
          [](FlowTelling& telling) {
            telling.act("pause");
            telling.becomes(WorkflowStatus::PAUSED);
            telling.wait_for("the end of its agent", [&] { return telling.scene().processes().empty(); });
            write_text(telling.gate(), "open\n");
            telling.act("resume");
            telling.becomes(WorkflowStatus::COMPLETED);
            telling.settle();
          },
          [](FlowTelling& telling) { telling.expect_begun("1 2 1"); }};
}

FlowStory cancelled() {
  return {"Cancelled", with_running_agent,
          [](FlowTelling& telling) {
            telling.act("cancel");
            telling.becomes(WorkflowStatus::CANCELLED);
            telling.settle();
          },
          [](FlowTelling& telling) {
            telling.expect_begun("1 1 0");
            for (const auto& work : telling.works())
              telling.expect(work.status == WorkStatus::CANCELLED, "a work is left: " + to_json(work));
          }};
}

// A person has the second repository's branch; the first repository's worktree is made by then.
FlowStory start_fails() {
  return {"StartFails",
          [](FlowTelling& telling) {
            two_works(telling);
            telling.scene().git(telling.scene().path("two"), {"branch", "skald/" + telling.workflow()});
          },
          [](FlowTelling& telling) {
            telling.act("start");
            telling.wait_for("the way back", [&] {
              const auto seen = telling.show();
              return seen.status == WorkflowStatus::CREATED && seen.error;
            });
            telling.settle();
          },
          [](FlowTelling& telling) {
            telling.scene().git(telling.scene().path("two"), {"branch", "-D", "skald/" + telling.workflow()});
            telling.expect(telling.show().error->starts_with("BRANCH_TAKEN"), to_json(telling.show()));
            telling.expect(telling.show().work_trees.empty(), "a worktree is left: " + to_json(telling.show()));
            telling.expect_begun("0 0 0 0");
            telling.expect_nothing_left();
          }};
}

void meddled_with(FlowTelling& telling) {
  completed(telling);
  for (const char* name : {"one", "two"}) {
    write_text(telling.tree(name) + "/new.txt", "mine\n");
    write_text(telling.tree(name) + "/more.txt", "mine\n");
  }
}

void restore_first(FlowTelling& telling) {
  telling.act("checkpoints/" + telling.works()[0].id + "/restore");
  telling.wait_for("the safety checkpoint", [&] { return telling.checkpoints().size() == 3; });
  telling.settle();
}

void expect_files(FlowTelling& telling, const std::string& text, bool more) {
  for (const char* name : {"one", "two"}) {
    const std::string found = text_of_file(telling.tree(name) + "/new.txt");
    telling.expect(found == text, "in " + std::string(name) + " lies " + found + " instead of " + text);
    telling.expect(std::filesystem::exists(telling.tree(name) + "/more.txt") == more, "more.txt is wrong");
    const std::string ref = "refs/skald/" + telling.workflow() + "/" + telling.checkpoints().back().id;
    const std::string kept = telling.scene().git(telling.scene().path(name), {"show", ref + ":more.txt"});
    telling.expect(kept == "mine", "the safety checkpoint holds " + kept);
  }
}

FlowStory restored() {
  return {"Restored", meddled_with, restore_first,
          [](FlowTelling& telling) { expect_files(telling, "a\nb\n", false); }};
}

// The second repository has lost the commit that it is to go back to.
FlowStory restore_fails() {
  return {"RestoreFails",
          [](FlowTelling& telling) {
            meddled_with(telling);
            const std::string two = telling.scene().path("two");
            const std::string all = "refs/skald/" + telling.workflow() + "/";
            for (const auto& work : telling.works()) telling.scene().git(two, {"update-ref", "-d", all + work.id});
            telling.scene().git(two, {"prune", "--expire=now"});
          },
          restore_first, [](FlowTelling& telling) { expect_files(telling, "mine\n", true); }};
}

void integrate(FlowTelling& telling) {
  telling.act("integrate", R"({"mode":"merge"})");
  telling.wait_for("the integration", [&] {
    const auto seen = telling.show().integration;
    return seen && seen->status != IntegrationStatus::RUNNING;
  });
  telling.settle();
}

std::string own_file(const FlowTelling& telling) { return "own-" + std::to_string(telling.number()) + ".txt"; }

// `mark-*` remembers where main was.
void ready_for_home(FlowTelling& telling) {
  telling.create({{adds(own_file(telling), "x") + "; " + adds("shared.txt", "work")}});
  telling.runs_to_its_end();
}

void mark_mains(FlowTelling& telling) {
  for (const char* name : {"one", "two"})
    write_text(telling.scene().path("mark-" + std::string(name)), telling.main_of(name));
}

std::string marked(FlowTelling& telling, const std::string& name) {
  return text_of_file(telling.scene().path("mark-" + name));
}

FlowStory integrated() {
  return {"Integrated",
          [](FlowTelling& telling) {
            ready_for_home(telling);
            mark_mains(telling);
          },
          integrate,
          [](FlowTelling& telling) {
            telling.expect(telling.show().integration->status == IntegrationStatus::DONE, to_json(telling.show()));
            for (const char* name : {"one", "two"}) {
              const std::string where = telling.scene().path(name);
              const std::string merges =
                  telling.scene().git(where, {"rev-list", "--count", "--merges", marked(telling, name) + "..main"});
              telling.expect(merges == "1", "main of " + std::string(name) + " has got " + merges + " merges");
              telling.expect(text_of_file(where + "/" + own_file(telling)) == "x\n", "the checkout does not follow");
              const std::string status = telling.scene().git(where, {"status", "--porcelain"});
              telling.expect(status.empty(), "the checkout is not clean: " + status);
            }
          }};
}

void expect_not_home(FlowTelling& telling, const std::string& code) {
  const auto seen = telling.show().integration;
  telling.expect(seen->status == IntegrationStatus::FAILED && seen->error.value_or("").starts_with(code),
                 to_json(telling.show()));
  for (const char* name : {"one", "two"})
    telling.expect(telling.main_of(name) == marked(telling, name), "main of " + std::string(name) + " was moved");
  const std::string status = telling.scene().git(telling.scene().path("one"), {"status", "--porcelain"});
  telling.expect(status.empty(), "the checkout is not clean: " + status);
}

FlowStory conflict() {
  return {"Conflict",
          [](FlowTelling& telling) {
            ready_for_home(telling);
            const std::string two = telling.scene().path("two");
            write_text(two + "/shared.txt", "others " + std::to_string(telling.number()) + "\n");
            telling.scene().git(two, {"commit", "-q", "-a", "-m", "Of others"});
            mark_mains(telling);
          },
          integrate, [](FlowTelling& telling) { expect_not_home(telling, "MERGE_CONFLICTS"); }};
}

FlowStory taken_back() {
  return {"TakenBack",
          [](FlowTelling& telling) {
            ready_for_home(telling);
            write_text(telling.scene().path("two/shared.txt"), "somebody works here\n");
            mark_mains(telling);
          },
          integrate,
          [](FlowTelling& telling) {
            expect_not_home(telling, "TARGET_IN_USE");
            telling.scene().git(telling.scene().path("two"), {"checkout", "-q", "."});
          }};
}

}  // namespace

const std::vector<FlowStory>& flow_stories() {
  static const std::vector<FlowStory> all = {life(),     deleted(),       paused(),     cancelled(), start_fails(),
                                             restored(), restore_fails(), integrated(), conflict(),  taken_back()};
  return all;
}

}  // namespace skald::crash
