// skald flow …, with a server that is a table of answers.
#pragma once

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "cli/command.h"
#include "support/test_database.h"

namespace skald::cli {

class FlowCommandTest : public testing::Test {
 protected:
  static Arguments parse(std::vector<std::string> words) {
    words.insert(words.begin(), "flow");
    return parse_arguments(words);
  }
  // Answers as `answers_` says by method and path; what it does not know is a 404.
  Api api() {
    return [this](const Request& request) {
      const std::string line = request.method + " " + request.path;
      asked_.push_back(line + (request.body.empty() ? "" : " " + request.body));
      const auto found = answers_.find(line);
      if (found != answers_.end()) return found->second;
      return Response{404, R"({"code":"THING_NOT_FOUND","detail":"there is none"})", "application/json", {}};
    };
  }
  void answer(const std::string& line, const std::string& body, int status = 200) {
    answers_[line] = Response{status, body, "application/json", {}};
  }
  // What happens between two looks, in order; a command that looks on and on is a fault.
  Terminal terminal() {
    return {[this](Duration) {
              if (looks_ == 100) throw std::runtime_error("it does not end");
              if (looks_ < between_.size()) between_[looks_]();
              ++looks_;
            },
            &progress_, colours_};
  }
  int run(std::vector<std::string> words) {
    out_.str("");
    return run_flow(parse(std::move(words)), api(), terminal(), out_);
  }
  // "CODE sentence" of what is thrown.
  std::string refusal_of(std::vector<std::string> words) {
    try {
      run(std::move(words));
    } catch (const Error& error) {
      return error.code() + " " + error.what();
    }
    return "";
  }
  std::string plan(const std::string& name, const std::string& text) {
    const auto path = folder_.path() / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  std::map<std::string, Response> answers_;
  std::vector<std::string> asked_;
  test::TemporaryFolder folder_;
  std::vector<std::function<void()>> between_;
  std::size_t looks_ = 0;
  bool colours_ = false;
  std::ostringstream out_, progress_;
};

inline constexpr const char* kFlow =
    R"({"id":"F1","name":"greet","agent":"shell","status":"RUNNING","allowed":["pause","cancel"],"works":[)"
    R"({"id":"W1","name":"write","status":"COMPLETED"},{"id":"W2","name":"check","status":"RUNNING"}],"workTrees":[)"
    R"({"gitId":"G1","branch":"skald/F1","path":"/data/F1","status":"READY"}],"createdAt":"2026-11-15T20:00:00Z"})";

}  // namespace skald::cli
