#include "agentflow/script/script.h"

#include <poll.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <ostream>

#include "agentflow/own_mcp.h"
#include "skald/error.h"

namespace agentflow {
namespace {

namespace fs = std::filesystem;

constexpr int kBadLine = 64;  // EX_USAGE
constexpr std::size_t kScriptMax = 1 << 20;
constexpr std::int64_t kScriptWaitMax = 86'400;
constexpr std::chrono::hours kWaitForMax{1};

[[noreturn]] void refuse_line(const std::string& what) { throw skald::Invalid("BAD_SCRIPT", what); }

std::int64_t whole_number(const std::string& text, std::int64_t low, std::int64_t high) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || out < low || out > high)
    refuse_line("expected a number from " + std::to_string(low) + " to " + std::to_string(high));
  return out;
}

std::pair<std::string, std::string> first_word(const std::string& text) {
  const std::size_t space = text.find(' ');
  if (space == text.npos) return {text, ""};
  return {text.substr(0, space), text.substr(space + 1)};
}

void rest_for(std::chrono::milliseconds time) { ::poll(nullptr, 0, static_cast<int>(time.count())); }

class Script {
 public:
  Script(const skald::Clock& clock, const ScriptPlace& place, std::ostream& out)
      : clock_(clock), place_(place), out_(out) {}

  // The exit code where the line ends the script.
  std::optional<int> run(const std::string& line, int number) {
    const auto [verb, written] = first_word(line);
    if (verb.empty() || verb[0] == '#') return std::nullopt;
    const std::string rest = with_answer(written);
    if (verb == "say") out_ << rest << std::endl;
    else if (verb == "write") put(rest, std::ios::trunc);
    else if (verb == "append") put(rest, std::ios::app);
    else if (verb == "commit") commit(rest);
    else if (verb == "wait") wait(rest);
    else if (verb == "wait-for") wait_for_file(rest);
    else if (verb == "fail") return static_cast<int>(whole_number(rest, 1, 125));
    else if (verb == "fail-once") return fail_once(rest, number);
    else if (verb == "cost") tell_cost(rest);
    else if (verb == "ask") ask(rest);
    else refuse_line("there is no command " + verb);
    return std::nullopt;
  }

 private:
  // Symbolic links count as where they lead.
  fs::path inside(const std::string& name) const {
    const fs::path root = fs::canonical(place_.folder);
    if (name.empty() || fs::path(name).is_absolute()) refuse_line("expected a path below the working folder");
    const fs::path path = fs::weakly_canonical(root / name);
    const fs::path below = path.lexically_relative(root);
    if (below.empty() || *below.begin() == ".." || below == ".") refuse_line(name + " leads out of the working folder");
    if (*below.begin() == ".git") refuse_line(name + " belongs to git");
    return path;
  }

  void put(const std::string& rest, std::ios::openmode how) const {
    const auto [name, text] = first_word(rest);
    const fs::path path = inside(name);
    fs::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary | std::ios::out | how);
    file << text << '\n';
    file.close();
    if (!file) throw skald::Unavailable("NOT_WRITTEN", name + " cannot be written");
  }

  void git(std::vector<std::string> words) const {
    words.insert(words.begin(), {"git", "-c", "user.name=scripted", "-c", "user.email=scripted@example.invalid"});
    const auto result =
        skald::run_command(clock_, {.argv = words, .folder = place_.folder, .variables = place_.variables});
    if (!result.ok()) throw skald::Refused("GIT_FAILED", "git says no: " + result.err);
  }

  void commit(const std::string& message) const {
    if (message.empty()) refuse_line("expected a message");
    git({"add", "--all"});
    git({"commit", "--quiet", "--allow-empty", "--no-verify", "--message", message});
  }

  void wait(const std::string& seconds) const {
    const skald::Instant end = clock_.steady() + std::chrono::seconds(whole_number(seconds, 0, kScriptWaitMax));
    while (clock_.steady() < end)
      rest_for(std::min<std::chrono::milliseconds>(std::chrono::ceil<std::chrono::milliseconds>(end - clock_.steady()),
                                                   std::chrono::minutes(1)));
  }

  void wait_for_file(const std::string& name) const {
    if (name.empty()) refuse_line("expected a file");
    const skald::Instant end = clock_.steady() + kWaitForMax;
    for (std::error_code error; !fs::exists(fs::path(place_.folder) / name, error);) {
      if (clock_.steady() >= end) throw skald::Unavailable("NO_FILE", name + " has not come within an hour");
      rest_for(std::chrono::milliseconds(20));
    }
  }

  std::optional<int> fail_once(const std::string& code, int number) const {
    const int exit_code = static_cast<int>(whole_number(code, 1, 125));
    const auto value = [&](const char* name) {
      const auto found = place_.variables.find(name);
      if (found == place_.variables.end()) refuse_line("fail-once works in a workflow's space only");
      return found->second;
    };
    const fs::path mark = fs::path(value("SKALD_SPACE")) / (".failed-once." + value("SKALD_WORK") + "." +
                                                            value("SKALD_TASK") + "." + std::to_string(number));
    if (fs::exists(mark)) return std::nullopt;
    std::ofstream(mark) << "once\n";
    return exit_code;
  }

  // By the mailbox, as `skald mcp` does for other agents. Nobody writes to us who could go away meanwhile.
  void ask(const std::string& question) {
    const auto mailbox = place_.variables.find("SKALD_MAILBOX");
    if (question.empty()) refuse_line("expected a question");
    if (mailbox == place_.variables.end()) refuse_line("ask works in a workflow only");
    answer_ = mailbox_tools(clock_, mailbox->second, -1).ask(question);
    out_ << "answer: " << *answer_ << std::endl;
  }

  // What is put in is not looked at again.
  std::string with_answer(std::string text) const {
    constexpr std::string_view kAnswer = "{answer}";
    if (!answer_) return text;
    for (std::size_t at = 0; (at = text.find(kAnswer, at)) != text.npos; at += answer_->size())
      text.replace(at, kAnswer.size(), *answer_);
    return text;
  }

  void tell_cost(const std::string& number) const {
    if (number.empty() || number.size() > 20 || number.find_first_not_of("0123456789.") != number.npos)
      refuse_line("expected a number, such as 0.25");
    out_ << "cost: " << number << std::endl;
  }

  const skald::Clock& clock_;
  const ScriptPlace& place_;
  std::ostream& out_;
  std::optional<std::string> answer_;
};

}  // namespace

int run_script(const skald::Clock& clock, const ScriptPlace& place, std::istream& in, std::ostream& out,
               std::ostream& err) {
  Script script(clock, place, out);
  std::size_t bytes = 0;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    try {
      bytes += line.size() + 1;
      if (bytes > kScriptMax) refuse_line("a script has at most 1 MiB");
      if (line.ends_with('\r')) line.pop_back();
      if (const auto code = script.run(line, number)) return *code;
    } catch (const skald::Invalid& wrong) {
      err << "line " << number << ": " << wrong.what() << '\n';
      return kBadLine;
    } catch (const std::exception& failure) {
      err << "line " << number << ": " << failure.what() << '\n';
      return 1;
    }
  }
  return 0;
}

}  // namespace agentflow
