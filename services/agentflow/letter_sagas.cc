// What goes to an agent: a file for its mailbox, and its dismissal.
#include "agentflow/mailbox.h"
#include "agentflow/use.h"
#include "agentflow/walk.h"

namespace agentflow {

// A mailbox that is gone has nobody who reads.
skald::Saga<Letter> letter_saga(const OutsideHandle& outside) {
  return skald::Saga<Letter>("agentflow.letter")
      .remote("put into mailbox",
              [outside](skald::Remote&, Letter& letter) {
                if (const auto mailbox = Mailbox::at(outside->space_of(letter.workflow_id), letter.run))
                  mailbox->write(letter.file, letter.text);
              })
      .forward_only();
}

skald::Saga<StopAgent> dismiss_saga(const OutsideHandle& outside) {
  return skald::Saga<StopAgent>("agentflow.dismiss-agent")
      .sleep("let it end", kLastWords)
      .remote("stop", [outside](skald::Remote&, StopAgent& agent) { outside->agents().stop(agent.run, agent.why); })
      .forward_only();
}

}  // namespace agentflow
