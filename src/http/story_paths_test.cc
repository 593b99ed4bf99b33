#include "http/story_paths.h"

#include <gmock/gmock.h>

#include "http/fake_env.h"
#include "http/remote_call.h"

namespace skald::http {
namespace {

using testing::ElementsAre;

using Parts = std::vector<ToldPart>;

ToldPart part(const std::string& service, std::vector<std::string> names, std::vector<StoryLine> lines,
              std::optional<std::string> owner = {}) {
  return {.service = service, .names = std::move(names), .owner = std::move(owner), .lines = std::move(lines)};
}
StoryLine line(int at, const std::string& what) { return {from_micros(at), "history", what, "id", {}}; }

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
  Response ask(const std::string& key, const Caller& caller) {
    Request request;
    request.method = "GET";
    request.path = "/api/story/" + key;
    return near.dispatch_as(caller, request);
  }
  Response ask(const std::string& key) { return ask(key, admin); }
  std::vector<std::string> told(const std::string& key, const Caller& caller) {
    const Response answer = ask(key, caller);
    EXPECT_EQ(answer.status, 200) << answer.body;
    std::vector<std::string> out;
    if (answer.status != 200) return out;
    for (const auto& one : from_json<Story>(answer.body).lines) out.push_back(one.service + " " + one.what);
    return out;
  }
  std::vector<std::string> told(const std::string& key) { return told(key, admin); }
};

TEST_F(StoryTest, ANameThatOneServiceKnowsLeadsToWhatOthersKnow) {
  add_story_path(far, {[](const std::string& name) {
                   return name == "id/1" ? Parts{part("far", {}, {line(2, "second")})} : Parts{};
                 }});
  add_story_path(near, {remote("far"), [](const std::string& name) {
                          return name == "number" ? Parts{part("near", {"id/1"}, {line(3, "third"), line(1, "first")})}
                                                  : Parts{};
                        }});
  EXPECT_THAT(told("number"), ElementsAre("near first", "far second", "near third"));
  EXPECT_EQ(ask("unknown").status, 404);
}

TEST_F(StoryTest, WhatTwoNamesLeadToIsToldOnce) {
  add_story_path(near, {[](const std::string&) { return Parts{part("near", {"a", "b"}, {line(1, "once")})}; }});
  EXPECT_THAT(told("a"), ElementsAre("near once"));
}

TEST_F(StoryTest, NamesThatNeverEndAreCut) {
  int asked = 0;
  add_story_path(near, {[&](const std::string& name) {
                   ++asked;
                   return Parts{part("near", {name + "x"}, {line(1, "once")})};
                 }});
  EXPECT_THAT(told("a"), ElementsAre("near once"));
  EXPECT_LE(asked, 16);
}

TEST_F(StoryTest, AServiceThatCannotTellItsPartIsNotLeftOutSilently) {
  add_story_path(far, {[](const std::string&) -> Parts { throw Unavailable("AWAY", "its database is away"); }});
  add_story_path(near, {remote("far"), [](const std::string&) { return Parts{part("near", {}, {line(1, "known")})}; }});
  const Response answer = ask("number");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, testing::HasSubstr("STORY_INCOMPLETE"));
}

// A booking of kim's, whose seats another process knows without knowing whose they are. Mallory has
// a record that he called by the booking's id.
struct SharedNameTest : StoryTest {
  Caller kim{Role::customer, "kim"}, mallory{Role::customer, "mallory"}, lee{Role::customer, "lee"};

  SharedNameTest() {
    add_story_path(far, {[](const std::string& name) {
                     return name == "id" ? Parts{part("far", {}, {line(2, "seats")})} : Parts{};
                   }});
    add_story_path(near, {[](const std::string& name) {
                            Parts out;
                            if (name == "id" || name == "mallorys")
                              out.push_back(part("gifts", {"mallorys"}, {line(4, "gift")}, "mallory"));
                            if (name == "mallorys") out.push_back(part("gifts", {}, {line(5, "gift's event")}));
                            return out;
                          },
                          remote("far"),
                          [](const std::string& name) {
                            Parts out;
                            if (name == "id" || name == "number")
                              out.push_back(part("near", {"id", "number"}, {line(1, "booking")}, "kim"));
                            if (name == "id") out.push_back(part("near", {}, {line(3, "booking's event")}));
                            return out;
                          }});
  }
};

TEST_F(SharedNameTest, EachPartIsItsOwnersWhoeverChoseTheSameName) {
  EXPECT_THAT(told("id", kim), ElementsAre("near booking", "far seats", "near booking's event"));
  EXPECT_EQ(from_json<Story>(ask("id", kim).body).owner, "kim");
  EXPECT_THAT(told("id", mallory), ElementsAre("gifts gift", "gifts gift's event"));
  EXPECT_EQ(from_json<Story>(ask("id", mallory).body).names, (std::vector<std::string>{"id", "mallorys"}));
  EXPECT_EQ(ask("id", lee).status, 404);
  EXPECT_EQ(ask("number", mallory).status, 404);
}

TEST_F(SharedNameTest, StaffAreToldAllOfIt) {
  EXPECT_EQ(told("id").size(), 5u);
  EXPECT_EQ(from_json<Story>(ask("id").body).owner, std::nullopt) << "it is not one customer's";
  EXPECT_EQ(from_json<Story>(ask("number").body).key, "number");
}

TEST_F(SharedNameTest, PartsAreForStaff) {
  EXPECT_EQ(ask("id?parts=true", kim).status, 403);
  EXPECT_EQ(from_json<Story>(ask("mallorys?parts=true").body).parts->size(), 2u);
}

TEST_F(StoryTest, ANameThatTwoOwnersClaimIsNobodys) {
  add_story_path(near, {[](const std::string& name) {
                   return Parts{part("a", {name}, {line(1, "kim's")}, "kim"),
                                part("b", {name}, {line(2, "lee's")}, "lee"), part("c", {}, {line(3, "whose?")})};
                 }});
  EXPECT_EQ(told("n").size(), 3u);
  EXPECT_THAT(told("n", {Role::customer, "kim"}), ElementsAre("a kim's"));
}

}  // namespace
}  // namespace skald::http
