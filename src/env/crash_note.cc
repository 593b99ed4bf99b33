#include "env/crash_note.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

namespace skald {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::size_t kStackBytes = 64 * 1024;
constexpr std::size_t kNotesMax = 64;

constinit thread_local const CrashNotes::Running* running_here = nullptr;

std::array<struct sigaction, kSignals.size()> before;

// A stack that has run over is told, too: the handler has one of its own.
void give_stack() {
  thread_local std::unique_ptr<char[]> stack;
  if (stack) return;
  stack_t old{};
  if (sigaltstack(nullptr, &old) == 0 && (old.ss_flags & SS_DISABLE) == 0) return;
  stack = std::make_unique<char[]>(kStackBytes);
  stack_t own{};
  own.ss_sp = stack.get();
  own.ss_size = kStackBytes;
  sigaltstack(&own, nullptr);
  struct Disable {
    ~Disable() {
      stack_t off{};
      off.ss_flags = SS_DISABLE;
      sigaltstack(&off, nullptr);
    }
  };
  thread_local Disable at_end;
}

}  // namespace

CrashNotes::CrashNotes(std::string path) : path_(std::move(path)), own_file_(path_ + "." + std::to_string(getpid())) {
  static const bool installed = [] {
    struct sigaction action{};
    action.sa_sigaction = &CrashNotes::on_signal;
    action.sa_flags = SA_ONSTACK | SA_NODEFER | SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before[i]);
    return true;
  }();
  static_cast<void>(installed);
}

void CrashNotes::worker_is(std::string_view id) {
  const std::string* now = worker_.load();
  if (now != nullptr && *now == id) return;
  std::lock_guard lock(mutex_);
  worker_ = &names_.emplace_back(id);
}

CrashNotes::Running::Running(const CrashNotes* notes, char kind, std::string_view id) noexcept : notes_(notes) {
  if (notes_ == nullptr || id.size() + 3 > text_.size()) return;
  give_stack();
  text_[0] = kind;
  text_[1] = ' ';
  std::ranges::copy(id, text_.begin() + 2);
  text_[id.size() + 2] = '\n';
  size_ = id.size() + 3;
  outer_ = running_here;
  running_here = this;
}

CrashNotes::Running::~Running() {
  if (size_ > 0) running_here = outer_;
}

// Async-signal-safe: it opens, writes, and gives the signal to whoever had it before. A fault of the code itself comes
// again by itself, with its address.
void CrashNotes::on_signal(int number, siginfo_t* info, void*) noexcept {
  const auto place = static_cast<std::size_t>(std::ranges::find(kSignals, number) - kSignals.begin());
  sigaction(number, &before[place], nullptr);
  if (const Running* running = running_here) {
    running_here = nullptr;
    running->notes_->write(*running);
  }
  if (info->si_code <= 0) raise(number);
}

void CrashNotes::write(const Running& running) const noexcept {
  const std::string* worker = worker_.load();
  const int file = open(own_file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return;
  const auto put = [&](const char* text, std::size_t size) { return ::write(file, text, size) >= 0; };
  static_cast<void>((worker == nullptr || put(worker->data(), worker->size())) && put(" ", 1) &&
                    put(running.text_.data(), running.size_));
  close(file);
}

std::vector<std::string> CrashNotes::files() const {
  namespace fs = std::filesystem;
  const fs::path path(path_);
  const std::string start = path.filename().string() + ".";
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator i(path.parent_path(), error), end; !error && i != end; i.increment(error))
    if (i->path().filename().string().starts_with(start)) out.push_back(i->path().string());
  return out;
}

std::vector<CrashNotes::Note> CrashNotes::read(const std::string& file) {
  std::ifstream in(file);
  std::vector<Note> out;
  for (std::string line; out.size() < kNotesMax && std::getline(in, line);) {
    std::istringstream words(line);
    Note note;
    std::string kind, more;
    if (words >> note.worker >> kind >> note.id && !(words >> more) && kind.size() == 1) {
      note.kind = kind[0];
      out.push_back(std::move(note));
    }
  }
  return out;
}

void CrashNotes::remove(const std::string& file) {
  std::error_code gone;
  std::filesystem::remove(file, gone);
}

}  // namespace skald
