// The users of agentflow, by chance, over its paths; and the people who work in the same repositories meanwhile.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/agentflow/flow_site.h"
#include "sim/agentflow/git_model.h"

namespace skald::sim {

class FlowClients {
 public:
  FlowClients(Stage& stage, GitModel& git, FlowSite& site) : stage_(stage), git_(git), site_(site) {}

  // Repositories, and the Gits and McpServers of them.
  void prepare();
  void act();
  // Somebody commits, makes or deletes a branch, or begins or ends to change files in a checkout.
  void work_beside();
  void leave_repositories();
  void answer_questions();
  // What clients were told of their requests holds.
  void check_end();
  // `settle` waits until everything is at rest.
  void delete_everything(const std::function<void()>& settle);

 private:
  // One thing that a client wants, however often it has to ask.
  struct Wish {
    std::string method, path, body, key;
    std::string made;  // the id in its first answer
    bool settled = false;
  };
  struct Known {
    std::string id, status;
  };

  void ask(std::string method, std::string path, std::string body = "");
  void ask_again();
  void send(std::size_t index);
  void create();
  void move(const std::string& how, std::string_view from);
  void remove();
  void modify();
  void restore();
  void integrate();
  void answer();
  void query();
  void complete();
  void change_gits();
  void change_servers();
  std::string refs();
  std::string work(int number);
  std::vector<Known> known(const std::string& sql);
  std::optional<std::string> workflow_in(std::string_view states);
  bool is_being_integrated(const std::string& commit);
  void must(std::string method, std::string path, int status);

  Stage& stage_;
  GitModel& git_;
  FlowSite& site_;
  std::vector<Wish> wishes_;
  int named_ = 0;
};

}  // namespace skald::sim
