// What a thread runs for others, for the note that a dying process leaves behind.
//
// A saga's step or an event's handler that kills its process by a signal which can be caught (SIGSEGV,
// SIGBUS, SIGFPE, SIGILL, SIGABRT; an uncaught exception ends in the last) is named in a file, by the
// signal's handler. The next start reads the file and counts the death against that one alone.
//
//   CrashNotes notes("/data/crash");              // one per engine; files are /data/crash.PID
//   notes.worker_is(id);
//   { const CrashNotes::Running running(&notes, 's', saga_id);  step(); }
//
// Thread safe. The handlers are installed with the first CrashNotes, for the whole process and for good;
// what was installed before is called after them.
#pragma once

#include <signal.h>

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace skald {

class CrashNotes {
 public:
  explicit CrashNotes(std::string path);
  CrashNotes(const CrashNotes&) = delete;
  CrashNotes& operator=(const CrashNotes&) = delete;

  // Under which name this process works from here on.
  void worker_is(std::string_view id);

  struct Note {
    std::string worker, id;
    char kind = ' ';   // as Running was given it
  };
  // Of processes that have died, from files that are gone afterwards. `use` is called for each; what it
  // throws goes on, and the files that were not used up stay.
  template <class Use>
  void take(Use&& use) const {
    for (const std::string& file : files()) {
      for (const Note& note : read(file)) use(note);
      remove(file);
    }
  }

  // While it lives, its thread runs this. `notes` may be null: then nothing is noted.
  class Running {
   public:
    Running(const CrashNotes* notes, char kind, std::string_view id) noexcept;
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    friend class CrashNotes;
    const CrashNotes* notes_;
    const Running* outer_ = nullptr;
    std::array<char, 80> text_{};   // "KIND ID\n"
    std::size_t size_ = 0;
  };

 private:
  static void on_signal(int number, siginfo_t* info, void*) noexcept;
  void write(const Running& running) const noexcept;
  std::vector<std::string> files() const;
  static std::vector<Note> read(const std::string& file);
  static void remove(const std::string& file);

  const std::string path_, own_file_;
  std::mutex mutex_;                              // guards names_
  std::deque<std::string> names_;                 // a handler may read any of them
  std::atomic<const std::string*> worker_{nullptr};
};

}  // namespace skald
