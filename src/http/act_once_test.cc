// Idempotency keys of what is more than one transaction.
#include <gtest/gtest.h>

#include "http/fake_env.h"
#include "http/frail_database.h"
#include "http/idempotency.h"
#include "http/keyed_request.h"
#include "http/router.h"

namespace skald::http {
namespace {

class ActOnce : public testing::TestWithParam<Dialect> {
 protected:
  ActOnce() {
    migrate_api_keys(db_);
    db_.write("schema", [](Transaction& tx) { tx.execute("CREATE TABLE effect (id TEXT PRIMARY KEY)"); });
  }

  // As a handler must: once under one id, and the second time it is found.
  Response have_effect(const Request& request) {
    ++runs_;
    db_.write("effect", [&](Transaction& tx) {
      tx.execute("INSERT INTO effect (id) VALUES ($1) ON CONFLICT (id) DO NOTHING", request.effect_id);
    });
    return {202, "run " + std::to_string(runs_) + " " + request.effect_id, "text/plain", {{"location", "/things/1"}}};
  }
  Response act(const Request& request, const Handler& handler) {
    return act_once_per_key(db_, in_flight_, fake_.env, request, handler);
  }
  Response act(const Request& request) {
    return act(request, [this](const Request& r) { return have_effect(r); });
  }
  Response act_elsewhere(const Request& request) {
    return act_once_per_key(db_, elsewhere_, fake_.env, request, [this](const Request& r) { return have_effect(r); });
  }
  template <class F>
  static std::string code_of(F&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    return "";
  }
  std::int64_t count(const std::string& table) {
    return db_.read_result(
        [&](Transaction& tx) { return tx.query("SELECT COUNT(*) FROM " + table).get<std::int64_t>(0, 0); });
  }
  void expire_keys() {
    db_.write("expire", [](Transaction& tx) { tx.execute("UPDATE skald_api_key SET expires_at = 0"); });
  }

  FakeEnv fake_;
  FrailDatabase db_{GetParam(), fake_.env};
  InFlight in_flight_, elsewhere_;  // this process, and another
  int runs_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Both, ActOnce, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& given) { return given.param == Dialect::sqlite ? "SQLite" : "PostgreSQL"; });

TEST_P(ActOnce, TheFirstAnswerIsGivenAgainByteForByte) {
  const Response first = act(request_with("k"));
  const Response second = act(request_with("k"));
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(second.status, 202);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(second.content_type, "text/plain");
  EXPECT_EQ(second.headers.at("location"), "/things/1");
  EXPECT_EQ(second.headers.at("idempotency-replayed"), "true");
  EXPECT_FALSE(first.headers.contains("idempotency-replayed"));
}

TEST_P(ActOnce, AnotherBodyIsRefusedAndAnotherSubjectOrPathHasKeysOfItsOwn) {
  act(request_with("k"));
  EXPECT_EQ(code_of([&] { act(request_with("k", "{ }")); }), "KEY_REUSED");
  EXPECT_EQ(count("effect"), 1);
  Request request = request_with("k");
  request.caller.subject = "lee";
  act(request);
  request.path = "/others";
  act(request);
  EXPECT_EQ(count("effect"), 3);
  EXPECT_EQ(code_of([&] { act(request_with("a b")); }), "BAD_IDEMPOTENCY_KEY");
}

TEST_P(ActOnce, WithoutAKeyEachRequestHasItsEffectAndNothingIsKept) {
  Request request = request_with("");
  request.headers.clear();
  act(request);
  act(request);
  EXPECT_EQ(count("effect"), 2);
  EXPECT_EQ(count("skald_api_key"), 0);
}

TEST_P(ActOnce, WhatWasBrokenOffGoesOnUnderTheIdOfItsEffect) {
  EXPECT_THROW(act(request_with("k"),
                   [this](const Request& r) -> Response {
                     have_effect(r);
                     throw std::runtime_error("the process dies");
                   }),
               std::runtime_error);
  EXPECT_EQ(code_of([&] {
              act(request_with("k"), [](const Request&) -> Response { throw Unavailable("AWAY", "not now"); });
            }),
            "AWAY");
  EXPECT_EQ(code_of([&] { act(request_with("k", "{ }")); }), "KEY_REUSED") << "its effect may be there";
  const Response answer = act(request_with("k"));
  EXPECT_FALSE(answer.headers.contains("idempotency-replayed")) << "it is the first";
  EXPECT_EQ(count("effect"), 1);
  EXPECT_EQ(act(request_with("k")).body, answer.body);
  EXPECT_EQ(runs_, 2);
}

template <class E>
Handler throwing(const std::string& code) {
  return [code](const Request&) -> Response { throw E(code, "no"); };
}

TEST_P(ActOnce, ADefiniteRefusalFreesTheKeyForAnotherBodyToo) {
  const std::map<std::string, Handler> refusals = {{"INVALID", throwing<Invalid>("INVALID")},
                                                   {"NOT_FOUND", throwing<NotFound>("NOT_FOUND")},
                                                   {"FORBIDDEN", throwing<Forbidden>("FORBIDDEN")},
                                                   {"REFUSED", throwing<Refused>("REFUSED")},
                                                   {"FOR_NOW", throwing<RefusedForNow>("FOR_NOW")}};
  for (const auto& [code, refuse] : refusals) {
    EXPECT_EQ(code_of([&] { act(request_with(code), refuse); }), code);
    EXPECT_EQ(act(request_with(code, "{ }")).status, 202) << code;
    EXPECT_EQ(code_of([&] { act(request_with(code), refuse); }), "KEY_REUSED");
  }
  EXPECT_EQ(count("effect"), static_cast<std::int64_t>(refusals.size()));
}

TEST_P(ActOnce, WhatMayPassFreesNoKeyBecauseItsEffectMayStillCome) {
  const std::map<std::string, Handler> failures = {{"LOCK_TIMEOUT", throwing<LockTimeout>("LOCK_TIMEOUT")},
                                                   {"BUSY", throwing<Busy>("BUSY")},
                                                   {"STALE", throwing<Stale>("STALE")},
                                                   {"CONFLICT", throwing<Conflict>("CONFLICT")},
                                                   {"AWAY", throwing<Unavailable>("AWAY")},
                                                   {"UNKNOWN", throwing<CommitUnknown>("UNKNOWN")}};
  for (const auto& [code, fail] : failures) {
    std::string first, second;
    const auto note_and = [](std::string& id, const Handler& then) -> Handler {
      return [&id, then](const Request& r) { return id = r.effect_id, then(r); };
    };
    EXPECT_EQ(code_of([&] { act(request_with(code), note_and(first, fail)); }), code);
    EXPECT_EQ(code_of([&] { act(request_with(code, "{ }")); }), "KEY_REUSED") << code;
    EXPECT_EQ(code_of([&] { act(request_with(code), note_and(second, throwing<NotFound>("NONE"))); }), "NONE");
    EXPECT_EQ(act(request_with(code)).body.substr(6), first) << code << ": the first try may still have its effect";
    EXPECT_EQ(second, first);
  }
  EXPECT_EQ(count("effect"), static_cast<std::int64_t>(failures.size()));
}

// Of the given: one that waits for row locks here; one that is refused over there, and one that comes after that.
TEST_P(ActOnce, ARefusalElsewhereDoesNotFreeTheKeyOfWhatIsUnderWay) {
  Response third;
  const Response first = act(request_with("k"), [&](const Request& r) {
    EXPECT_EQ(code_of([&] {
                act_once_per_key(db_, elsewhere_, fake_.env, request_with("k"), throwing<NotFound>("NOT_THERE_YET"));
              }),
              "NOT_THERE_YET");
    third = act_elsewhere(request_with("k"));
    return have_effect(r);
  });
  EXPECT_EQ(first.body, third.body);
  EXPECT_EQ(count("effect"), 1);
}

TEST_P(ActOnce, WhatIsUsedUpForEverybodyFreesTheKeyThoughAnotherTryIsOpen) {
  const std::string first =
      act(request_with("k"), [&](const Request& r) {
        EXPECT_THROW(act_once_per_key(db_, elsewhere_, fake_.env, request_with("k"), throwing<RefusedForNow>("BUSY")),
                     Busy);
        EXPECT_NE(act_elsewhere(request_with("k")).body.substr(6), r.effect_id);
        return have_effect(r);
      }).body;
  EXPECT_NE(act(request_with("k")).body, first) << "the key belongs to the other effect by now";
}

TEST_P(ActOnce, AKeyUnderWayInThisProcessIsBusy) {
  std::string inner;
  act(request_with("k"), [&](const Request& r) {
    inner = code_of([&] { act(request_with("k")); });
    return have_effect(r);
  });
  EXPECT_EQ(inner, "KEY_IN_FLIGHT");
  EXPECT_EQ(count("effect"), 1);
}

TEST_P(ActOnce, TwoProcessesAtOnceHaveOneEffectAndGiveTheAnswerThatIsKeptFirst) {
  Response inner;
  const Response outer = act(request_with("k"), [&](const Request& r) {
    inner = act_elsewhere(request_with("k"));
    return have_effect(r);
  });
  EXPECT_EQ(runs_, 2);
  EXPECT_EQ(count("effect"), 1);
  EXPECT_EQ(outer.body, inner.body);
  EXPECT_EQ(outer.headers.at("idempotency-replayed"), "true");
}

TEST_P(ActOnce, AnAnswerThatComesAfterItsKeyHasAnotherEffectIsNotKept) {
  const Response late = act(request_with("k"), [&](const Request& r) {
    db_.write("forget", [](Transaction& tx) { tx.execute("DELETE FROM skald_api_key"); });
    act_elsewhere(request_with("k", "{ }"));
    return have_effect(r);
  });
  EXPECT_EQ(late.body.substr(0, 6), "run 2 ");
  EXPECT_EQ(act(request_with("k", "{ }")).body.substr(0, 6), "run 1 ");
}

TEST_P(ActOnce, AnAnswerThatCannotBeKeptIsNotGiven) {
  EXPECT_THROW(act(request_with("k"),
                   [&](const Request& r) {
                     Response response = have_effect(r);
                     db_.away = true;
                     return response;
                   }),
               CommitUnknown)
      << "Unavailable would say that nothing has happened";
  db_.away = false;
  EXPECT_EQ(act(request_with("k")).body.substr(0, 6), "run 2 ");
  EXPECT_EQ(count("effect"), 1);
}

TEST_P(ActOnce, AfterADayTheKeyIsNewAgainWhetherItWasAnsweredOrNot) {
  act(request_with("answered"));
  code_of(
      [&] { act(request_with("broken"), [](const Request&) -> Response { throw Unavailable("AWAY", "not now"); }); });
  expire_keys();
  act(request_with("answered", "{ }"));
  act(request_with("broken", "{ }"));
  EXPECT_EQ(count("effect"), 3);
  EXPECT_EQ(count("skald_api_key"), 2);
  expire_keys();
  purge_expired(db_);
  EXPECT_EQ(count("skald_api_key"), 0);
}

TEST_P(ActOnce, ThroughTheRouterItIsAPostThatSaysItTakesAKey) {
  Routes routes(fake_.env, Authenticator(fake_.env, std::nullopt), "1");
  routes.act_once(db_, "/things", Access::customer, {}, [this](const Request& r) { return have_effect(r); });
  const auto first = routes.dispatch(request_with("k")), second = routes.dispatch(request_with("k"));
  EXPECT_EQ(first.status, 202);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(second.headers.at("idempotency-replayed"), "true");
  EXPECT_TRUE(routes.all().back().doc.keyed);
  EXPECT_EQ(count("effect"), 1);
}

}  // namespace
}  // namespace skald::http
