// Waiting for what others may free (Busy with a Shortage).
//
// First the saga says what it lacks, in a commit of its own; then its step looks once more,
// and only then it waits: what is freed behind that commit is marked at its row, and what
// was freed before it is found by the second look.
//
// | what happens                                | what comes of it                             |
// | freed between the first look and the commit | the second look finds it                     |
// | freed during the second look                | its row is marked: it looks again            |
// | freed while it waits                        | it is woken                                  |
// | who freed it died before it could say so    | the saga looks by itself before long         |
// | others are faster                           | it waits again, until its limit              |
#pragma once

#include "saga/instance.h"

namespace skald::saga {

enum class Lack {
  look_again,  // commit, and run the step again at once
  wait,        // commit, unowned, until it is woken
  over         // its limit is reached
};
Lack note_lack(Transaction& tx, Instance& saga, const Shortage& shortage);

// How long one that is not woken waits before it looks by itself.
inline constexpr Duration kLooksByItself = 500ms;
// So many are woken for one thing that was freed.
inline constexpr int kWokenMax = 16;

}  // namespace skald::saga
