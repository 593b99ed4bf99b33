#include "http/story_paths.h"

#include <gmock/gmock.h>

#include "http/fake_env.h"
#include "http/remote_call.h"

namespace skald::http {
namespace {

using testing::ElementsAre;

Story part(std::vector<std::string> names, std::vector<OfService<StoryLine>> lines) {
  return {.key = "", .names = std::move(names), .owner = {}, .lines = std::move(lines)};
}
OfService<StoryLine> line(const std::string& service, int at, const std::string& what) {
  return {{from_micros(at), "history", what, "id", {}}, service};
}

struct StoryTest : testing::Test {
  FakeEnv fake;
  Routes near{fake.env, Authenticator(fake.env, std::nullopt), "1"},
      far{fake.env, Authenticator(fake.env, std::nullopt), "1"};
  Caller admin{Role::admin, "ada"};

  // A service in another process, its question and its answer as bytes.
  StorySource remote(const std::string& service) {
    return story_of(service, [this](const Request& request) {
      const Request arrived = read_call(write_call(request, trace_of(request)));
      return read_answer(write_answer(far.dispatch_as(arrived.caller, arrived)));
    });
  }
  Response ask(const std::string& key) {
    Request request;
    request.method = "GET";
    request.path = "/api/story/" + key;
    return near.dispatch_as(admin, request);
  }
  std::vector<std::string> told(const std::string& key) {
    const Response answer = ask(key);
    EXPECT_EQ(answer.status, 200) << answer.body;
    std::vector<std::string> out;
    for (const auto& one : from_json<Story>(answer.body).lines) out.push_back(one.service + " " + one.what);
    return out;
  }
};

TEST_F(StoryTest, ANameThatOneServiceKnowsLeadsToWhatOthersKnow) {
  add_story_path(far, {[](const std::string& name) {
                   return name == "id/1" ? part({}, {line("far", 2, "second")}) : part({}, {});
                 }});
  add_story_path(near, {remote("far"), [](const std::string& name) {
                          return name == "number" ? part({"id/1"}, {line("near", 3, "third"), line("near", 1, "first")})
                                                  : part({}, {});
                        }});
  EXPECT_THAT(told("number"), ElementsAre("near first", "far second", "near third"));
  EXPECT_EQ(ask("unknown").status, 404);
}

TEST_F(StoryTest, WhatTwoNamesLeadToIsToldOnce) {
  add_story_path(near, {[](const std::string&) { return part({"a", "b"}, {line("near", 1, "once")}); }});
  EXPECT_THAT(told("a"), ElementsAre("near once"));
}

TEST_F(StoryTest, NamesThatNeverEndAreCut) {
  int asked = 0;
  add_story_path(near, {[&](const std::string& name) {
                   ++asked;
                   return part({name + "x"}, {line("near", 1, "once")});
                 }});
  EXPECT_THAT(told("a"), ElementsAre("near once"));
  EXPECT_LE(asked, 16);
}

TEST_F(StoryTest, AServiceThatCannotTellItsPartIsNotLeftOutSilently) {
  add_story_path(far, {[](const std::string&) -> Story { throw Unavailable("AWAY", "its database is away"); }});
  add_story_path(near, {remote("far"), [](const std::string&) { return part({}, {line("near", 1, "known")}); }});
  const Response answer = ask("number");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, testing::HasSubstr("STORY_INCOMPLETE"));
}

}  // namespace
}  // namespace skald::http
