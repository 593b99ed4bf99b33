// What can go wrong, where, and how a run is named: in words, and as a token.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skald::sim::kit {

enum class Kind {
  // of a commit
  crash_before,
  crash_after,
  answer_lost,
  commit_fails,
  runs_twice,
  too_late,
  // of a local step or undo
  busy,
  // of a step, call or undo
  refused,
  // of a remote call
  unavailable,
  lost_there,
  lost_back,
  called_twice,
  late,
  overtaken
};
BOOST_DESCRIBE_ENUM(Kind, crash_before, crash_after, answer_lost, commit_fails, runs_twice, too_late, busy, refused,
                    unavailable, lost_there, lost_back, called_twice, late, overtaken)
inline constexpr std::size_t kKinds = 14;

// Where a saga is when something may go wrong.
struct Place {
  enum class What { commit, local, remote } what = What::commit;
  std::string text = {};           // of a commit: what it stores; else: step 'charge', the undo of 'charge'
  std::string saga = {};           // of a step: whose, and which
  int step = 0;
  std::size_t element = 0;
  bool undo = false;
  bool way_back = false;           // a refusal here turns the saga back
  bool happened = false;           // a call that was made before: nobody refuses it now
  bool cancellable = false;        // a call that can be cancelled by its key when the deadline has passed
  bool has_deadline = false;       // of a commit: there is one that may pass
};
bool applies(Kind kind, const Place& place);

// One step that is refused, whenever it runs.
struct Refusal {
  std::string saga;
  int step = 0;
  std::size_t element = 0;
  bool operator==(const Refusal&) const = default;
};

// The n-th time that this can happen, it does.
struct Fault {
  Kind kind = Kind::crash_before;
  int nth = 1;
};

// One run: refuse=2+crash_after=7, or seed=17.
struct Token {
  int refusal = 0;                 // of the places that can be refused in the undisturbed run, from 1; 0: none
  std::optional<Fault> fault = {};
  std::optional<std::uint64_t> seed = {};
};
std::string text_of(const Token& token);
// Throws Invalid (SIM_TOKEN).
Token parse_token(std::string_view text);

// "crash after the commit that stored step 'charge'"
std::string words_for(Kind kind, const Place& place);

}  // namespace skald::sim::kit
