// Skald's side of the contest, each role in a process of its own:
//   skald_bench role ROLE NAME URL TIMES RATE SECONDS COUNT
// It speaks the protocol of peers/peer.mjs.
#pragma once

namespace bench {

int run_role(int argc, char** argv);

}  // namespace bench
