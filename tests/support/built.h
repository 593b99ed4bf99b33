// Where the build put what tests start, and where they find the sources. Constants of one generated file: a path as a
// definition of each file that uses it would make every clone compile those files for itself.
#pragma once

namespace skald::built {

extern const char* const kProgram;       // skald
extern const char* const kSupervisor;    // skald-agent-run
extern const char* const kOrderProcess;  // skald_order_process
extern const char* const kAgentflowProcess;  // skald_agentflow_process
extern const char* const kSources;       // the root of the repository

}  // namespace skald::built
