// The mailbox of a run: a folder in the workflow's space through which an agent and the engine write to each other. Files
// are enough: nothing is lost while one of the two is away, and no network and no token is needed.
//
// | file            | written by                  | what it is                                              |
// | brief.json      | the launch                  | what `read` tells                                       |
// | request-N.json  | `skald mcp`, N from 1       | an AgentRequest; without a gap, never changed           |
// | answer-N.json   | the engine                  | the answer to the question that request N is            |
// | query-K.json    | the engine                  | a question of a person to this agent                    |
//
// The agent may put there whatever it likes, so nothing in it is believed: no link is followed, only regular files of a
// bounded size are read, and opening one never waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "skald/json.h"

namespace agentflow {

inline constexpr int kRequestsMax = 1'000;  // of one run
inline constexpr std::size_t kSaidMax = 64 << 10;  // bytes of one text
inline constexpr std::size_t kMailFileMax = 512 << 10;  // escaped, a text is longer

enum class RequestKind { report, ask, complete, answer };
BOOST_DESCRIBE_ENUM(RequestKind, report, ask, complete, answer)

struct AgentRequest {
  RequestKind kind{};
  std::string text;
  std::optional<std::string> query = {};  // that it answers
};
BOOST_DESCRIBE_STRUCT(AgentRequest, (), (kind, text, query))

struct MailAnswer {
  std::string answer;
};
BOOST_DESCRIBE_STRUCT(MailAnswer, (), (answer))

struct MailQuery {
  std::string id, text;
};
BOOST_DESCRIBE_STRUCT(MailQuery, (), (id, text))

inline std::string request_file(int n) { return "request-" + std::to_string(n) + ".json"; }
inline std::string answer_file(std::int64_t n) { return "answer-" + std::to_string(n) + ".json"; }
inline std::string query_file(std::int64_t k) { return "query-" + std::to_string(k) + ".json"; }

std::string mailbox_path(const std::string& space, const std::string& run);

// Owns the descriptor of the folder. Thread safe, but for moves.
class Mailbox {
 public:
  // None: it is not there, or something else is in its place.
  static std::optional<Mailbox> at(const std::string& space, const std::string& run);
  static std::optional<Mailbox> at(const std::string& folder);
  // Made (0700) where it is missing. Unavailable (NO_MAILBOX) where it cannot be.
  static Mailbox make(const std::string& space, const std::string& run);

  ~Mailbox();
  Mailbox(Mailbox&& other) noexcept;
  Mailbox& operator=(Mailbox&&) = delete;

  struct Reading {
    bool is_there = false;
    std::optional<std::string> text = {};  // none: no regular file, too large, or not to be read
  };
  Reading read(const std::string& name) const;
  // Whole or not at all, also over a crash; in the place of what was there. Unavailable (NO_MAILBOX).
  void write(const std::string& name, const std::string& text) const;
  // As write(), but false where there is one of that name.
  bool add(const std::string& name, const std::string& text) const;
  void remove(const std::string& name) const;
  int fd() const { return folder_; }

 private:
  explicit Mailbox(int folder) : folder_(folder) {}
  std::string write_beside(const std::string& name, const std::string& text) const;

  int folder_;
};

}  // namespace agentflow
