#include "sim/clients.h"

#include "sim/business.h"
#include "sim/signals.h"

namespace skald::sim {
namespace {

// What a client makes of an error: nothing happened, or it cannot know.
enum class News { done, nothing_happened, unknown };

template <class F>
News news_of(F&& request) {
  try {
    request();
    return News::done;
  } catch (const CommitUnknown&) {
    return News::unknown;
  } catch (const Error&) {
    return News::nothing_happened;
  }
}

// One donation per request id; a repeated one gets the first one's answer.
std::string take_donation(Transaction& tx, const std::string& request, const std::string& body,
                          const std::optional<Intent>& intent) {
  const Rows before = tx.query("SELECT n, body FROM sim_donation WHERE request = $1", request);
  if (!before.empty())
    return before.get<std::string>(0, 1) + " is donation " + std::to_string(before.get<std::int64_t>(0, 0));
  tx.execute("INSERT INTO sim_donation (request, body) VALUES ($1, $2)", request, body);
  if (intent) announce_gift(tx, *intent);
  return body + " is donation " +
         std::to_string(tx.query("SELECT n FROM sim_donation WHERE request = $1", request).get<std::int64_t>(0, 0));
}

}  // namespace

void Clients::act(Process& process) {
  switch (stage_.dice.below(4)) {
    case 0: return donate(process);
    case 1: return crowd(process);
    default: return emit(process);
  }
}

// A business row and its events in one transaction; sometimes the business says no.
void Clients::emit(Process& process) {
  const std::string subject = next_subject();
  std::vector<Intent> intents;
  for (int i = stage_.dice.between(1, 3); i > 0; --i) intents.push_back(draw_intent(stage_, subject));
  const bool refuse = stage_.dice.chance(80);
  const News news = news_of([&] {
    process.db().write("emit", [&](Transaction& tx) {
      for (const Intent& intent : intents) announce_gift(tx, intent);
      if (refuse) throw Refused("NO", "simulated: the business says no");
    });
  });
  if (refuse) stage_.markers.hit(Marker::business_refused);
  if (news == News::done) ledger_.acknowledged(subject);
  if (news == News::nothing_happened) ledger_.denied(subject);
}

// Over the API, with a key from a small pool, so that keys come again: with the
// same body, with another, at once and later.
void Clients::donate(Process& process) {
  const std::string key = "api-" + std::to_string(stage_.dice.between(1, 12));
  const std::string body =
      "{\"amount\":" + std::to_string(stage_.dice.chance(150) ? 2 : 1) + ",\"key\":\"" + key + "\"}";
  Request request;
  request.method = "POST";
  request.path = "/donations";
  request.headers["idempotency-key"] = key;
  request.body = body;
  request.caller.subject = "kim";
  const std::optional<Intent> intent = stage_.dice.chance(500) ? std::optional(draw_intent(stage_, key)) : std::nullopt;
  try {
    // The handler trusts in its key alone: no look at what is there already.
    const Response response =
        http::run_once_per_key(process.db(), process.in_flight(), request, [&](const Request& asked, Transaction& tx) {
          tx.execute("INSERT INTO sim_donation (request, body) VALUES ($1, $2)", key, asked.body);
          if (intent) announce_gift(tx, *intent);
          const Rows row = tx.query("SELECT MAX(n) FROM sim_donation WHERE request = $1", key);
          return Response::text(asked.body + " is donation " + std::to_string(row.get<std::int64_t>(0, 0)));
        });
    if (response.headers.contains("idempotency-replayed")) stage_.markers.hit(Marker::api_replayed);
    ledger_.answered(key, body, response.body);
  } catch (const Error& error) {
    if (error.code() == "KEY_REUSED") stage_.markers.hit(Marker::api_key_reused);
    if (error.code() == "KEY_IN_FLIGHT") stage_.markers.hit(Marker::api_in_flight);
    stage_.trace.note(stage_.now(), {"  client told", error.code()});
  }
}

// Callers that arrive together share one physical commit. Some send the same
// request, some are refused, one may make the store end the transaction.
void Clients::crowd(Process& process) {
  struct Caller {
    std::string request, subject, answer;
  };
  const int crowd = ++crowds_;
  std::vector<Caller> callers(static_cast<std::size_t>(stage_.dice.between(2, 6)));
  std::vector<Database::Body> bodies;
  const std::string body = "{\"crowd\":" + std::to_string(crowd) + "}";
  for (Caller& caller : callers) {
    const int kind = stage_.dice.between(0, 9);
    if (kind <= 4) {
      caller.request = "crowd-" + std::to_string(crowd) + "-" + std::to_string(stage_.dice.between(1, 3));
      std::optional<Intent> intent;
      if (stage_.dice.chance(500)) intent = draw_intent(stage_, caller.request);
      bodies.push_back([&caller, body, intent](Transaction& tx) {
        caller.answer = take_donation(tx, caller.request, body, intent);
      });
    } else if (kind == 5) {
      caller.subject = next_subject();
      bodies.push_back([intent = draw_intent(stage_, caller.subject)](Transaction& tx) {
        announce_gift(tx, intent);
        throw Refused("NO", "simulated: the business says no");
      });
    } else if (kind == 6 && stage_.dice.chance(stage_.plan.rates.commit_fails * 10)) {
      // It makes nothing of it and goes on: that must not commit alone.
      stage_.markers.hit(Marker::transaction_ended_by_store);
      caller.subject = next_subject();
      bodies.push_back([intent = draw_intent(stage_, caller.subject)](Transaction& tx) {
        try {
          tx.execute("INSERT INTO sim_disk_full (n) VALUES (NULL)");
        } catch (const Error&) {
          // swallowed
        }
        announce_gift(tx, intent);
      });
    } else {
      caller.subject = next_subject();
      bodies.push_back([intent = draw_intent(stage_, caller.subject)](Transaction& tx) { announce_gift(tx, intent); });
    }
  }
  stage_.markers.hit(Marker::batch_of_callers);
  std::vector<std::exception_ptr> results;
  const News together = news_of([&] { results = process.db().write_together(bodies); });
  std::set<std::string> requests;
  for (std::size_t i = 0; i < callers.size(); ++i) {
    const Caller& caller = callers[i];
    if (!caller.request.empty() && !requests.insert(caller.request).second)
      stage_.markers.hit(Marker::duplicate_in_batch);
    const News news = together != News::done ? together : news_of([&] {
      if (results[i]) std::rethrow_exception(results[i]);
    });
    if (news == News::done && !caller.request.empty()) ledger_.answered(caller.request, body, caller.answer);
    if (news == News::done && !caller.subject.empty()) ledger_.acknowledged(caller.subject);
    if (news == News::nothing_happened && !caller.subject.empty()) ledger_.denied(caller.subject);
  }
}

}  // namespace skald::sim
