// Answers about workflows, as people read them.
#pragma once

#include <iosfwd>

#include "cli/json_view.h"

namespace skald::cli {

void print_gits(const JsonView& page, std::ostream& out);
void print_git(const JsonView& git, std::ostream& out);
void print_servers(const JsonView& page, std::ostream& out);
void print_server(const JsonView& server, std::ostream& out);
void print_templates(const JsonView& page, std::ostream& out);
void print_template(const JsonView& one, std::ostream& out);
void print_workflows(const JsonView& page, std::ostream& out);
void print_workflow(const JsonView& workflow, std::ostream& out);        // works by their status
void print_whole_workflow(const JsonView& workflow, std::ostream& out);  // works with their tasks
void print_checkpoints(const JsonView& page, std::ostream& out);
void print_agents(const JsonView& agents, std::ostream& out);
void print_questions(const JsonView& page, std::ostream& out);
void print_question(const JsonView& question, std::ostream& out);
void print_query(const JsonView& query, std::ostream& out);

// "2 of 5"
std::string completed_works(const JsonView& workflow);

}  // namespace skald::cli
