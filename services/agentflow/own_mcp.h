// `skald mcp`: our MCP server for one agent, on its mailbox. It needs no engine: what it is told lies in the mailbox until
// the engine takes it, and the answers come there, too.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "agentflow/mcp.h"
#include "skald/env.h"

namespace agentflow {

// How long one call of `ask` waits; the agent may ask the same again, and goes on waiting for the same answer then.
inline constexpr skald::Duration kAskMax = std::chrono::hours(1);

// The tools on a mailbox. `input` is the descriptor that the agent writes to: where the agent has closed it, a wait ends.
//
// | what happens                                    | what the agent is told                                 |
// | the mailbox is gone, or not to be written       | Unavailable NO_MAILBOX                                 |
// | a text of no bytes, or of more than 64 KiB      | Invalid BAD_TEXT_LENGTH                                       |
// | more than 1,000 requests                        | Refused MAILBOX_FULL                                   |
// | a report that nobody wants                      | Refused NO_REPORT                                      |
// | no answer within kAskMax                        | Refused NO_ANSWER_YET: ask the same again              |
McpTools mailbox_tools(const skald::Clock& clock, const std::string& mailbox, int input);

// The program: serves until `in` ends. Invalid (USAGE) where there is no mailbox of that name.
int serve_own_mcp(const skald::Clock& clock, const std::string& mailbox, std::istream& in, std::ostream& out,
                  std::string_view version);

}  // namespace agentflow
