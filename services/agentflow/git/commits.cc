#include "agentflow/git/commits.h"

#include <charconv>

#include "skald/error.h"

namespace agentflow {
namespace {

[[noreturn]] void throw_unreadable_commit() {
  throw skald::Refused("GIT_FAILED",
                       "git cat-file prints a commit that cannot be read; look at the repository with git fsck");
}

// Takes the text up to `end` off its front, with `end`.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t found = text.find(end);
  if (found == text.npos) throw_unreadable_commit();
  const std::string_view front = text.substr(0, found);
  text.remove_prefix(found + 1);
  return front;
}

GitCommit parse_commit(std::string_view id, std::string_view text) {
  GitCommit commit{.id = std::string(id)};
  for (;;) {
    std::string_view line = take_until(text, '\n');
    if (line.empty()) break;
    if (line.front() == ' ') continue;  // of a signature, which nobody needs here
    const std::string_view word = take_until(line, ' ');
    if (word == "tree") commit.tree = line;
    else if (word == "parent") commit.parents.emplace_back(line);
    else if (word == "author") commit.author = line;
    else if (word == "committer") commit.committer = line;
    else if (word == "encoding") commit.encoding = line;
  }
  commit.message = text;
  return commit;
}

}  // namespace

std::string GitCommit::date() const {
  const std::size_t end = committer.rfind('>');
  return end == committer.npos || end + 2 > committer.size() ? "0 +0000" : committer.substr(end + 2);
}

std::vector<std::optional<GitCommit>> read_commits(const GitProgram& git, const GitPlace& place,
                                                   const std::vector<std::string>& names) {
  std::string asked;
  for (const std::string& name : names) asked += name + "^{commit}\n";
  const std::string answer = git.ask(place, {"cat-file", "--batch"}, {.text = asked}) + "\n";
  std::string_view rest = answer;
  std::vector<std::optional<GitCommit>> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string_view head = take_until(rest, '\n');
    if (!head.ends_with(" missing") && head.find(" commit ") != head.npos) {
      const std::string_view id = take_until(head, ' ');
      take_until(head, ' ');
      std::size_t size = 0;
      std::from_chars(head.data(), head.data() + head.size(), size);
      if (size + 1 > rest.size()) throw_unreadable_commit();
      out.emplace_back(parse_commit(id, rest.substr(0, size)));
      rest.remove_prefix(size + 1);
    } else {
      out.emplace_back();
    }
  }
  return out;
}

GitCommit read_commit(const GitProgram& git, const GitPlace& place, const std::string& name) {
  auto commit = read_commits(git, place, {name})[0];
  if (!commit) throw skald::Refused("NO_SUCH_REF", "the repository has no commit '" + name + "'; look at its branches");
  return std::move(*commit);
}

std::string write_commit(const GitProgram& git, const GitPlace& place, const GitCommit& commit) {
  std::string text = "tree " + commit.tree + "\n";
  for (const std::string& parent : commit.parents) text += "parent " + parent + "\n";
  text += "author " + commit.author + "\ncommitter " + commit.committer + "\n";
  if (!commit.encoding.empty()) text += "encoding " + commit.encoding + "\n";
  return git.ask(place, {"hash-object", "-t", "commit", "-w", "--stdin"}, {.text = text + "\n" + commit.message});
}

std::string our_signature(const std::string& date) { return "skald <skald@example.invalid> " + date; }

std::string our_signature(skald::Time at) {
  return our_signature(std::to_string(skald::to_micros(at) / 1'000'000) + " +0000");
}

}  // namespace agentflow
