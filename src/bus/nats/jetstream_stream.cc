#include "bus/nats/jetstream_stream.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "skald/error.h"

namespace skald {
namespace {

std::string hours(Duration duration) {
  return std::to_string(std::chrono::ceil<std::chrono::hours>(duration).count()) + "h";
}

std::string unusable(const JetStream& wanted, const std::string& why) {
  return "the NATS stream " + wanted.name + " is not used: " + why;
}

// How it may lose what nobody has read; empty: it does not.
std::string way_to_drop(const JetStream& wanted, const boost::json::object& info) {
  const bool gives_way = text_in(info, {"config", "discard"}) != "new";
  for (const char* limit : {"max_bytes", "max_msgs"})
    if (gives_way && number_in(info, {"config", limit}) > 0)
      return std::string("its ") + limit + " makes the oldest messages give way; set discard to new, or no limit";
  if (number_in(info, {"config", "max_msgs_per_subject"}) > 0 &&
      (gives_way || !flag_in(info, {"config", "discard_new_per_subject"})))
    return "its max_msgs_per_subject makes the oldest messages of a subject give way; set no such limit";
  if (const Duration age = duration_in(info, {"config", "max_age"}); age > 0us && age < wanted.age_min)
    return "its max_age drops messages earlier than age_min allows; raise it to " + hours(wanted.age_min) + " or more";
  if (text_in(info, {"config", "storage"}) != "file")
    return "its storage is memory, which a restart of the server empties; make it anew with file storage";
  if (text_in(info, {"config", "retention"}) == "interest")
    return "its retention is interest, so it drops what comes before a reader is known; make it anew with limits";
  if (flag_in(info, {"config", "no_ack"})) return "its no_ack says that nobody is told what it has; set it to false";
  return {};
}

std::string how_unsynced(const boost::json::object& info) {
  const std::int64_t replicas = number_in(info, {"config", "num_replicas"});
  const std::string whose = replicas >= 3 ? "its " + std::to_string(replicas) +
                                                " replicas may lose what they acknowledged last where several of their "
                                                "machines stop at once"
                                          : "it may lose what it acknowledged last when its server's machine stops";
  return whose +
         ", for it is not known to be synced at each write; set sync_interval: always in nats-server 2.10 or later and "
         "let this user ask $SYS.REQ.SERVER.*.VARZ, or accept it by accept_unsynced";
}

std::string create_request(const JetStream& wanted) {
  boost::json::object config;
  config["name"] = wanted.name;
  config["subjects"] = boost::json::array(wanted.make->subjects.begin(), wanted.make->subjects.end());
  config["retention"] = "limits";
  config["storage"] = "file";
  config["discard"] = "new";
  for (const char* unlimited : {"max_consumers", "max_msgs", "max_bytes", "max_msg_size", "max_msgs_per_subject"})
    config[unlimited] = -1;
  config["max_age"] = nanos(wanted.make->max_age);
  config["num_replicas"] = wanted.make->replicas;
  return boost::json::serialize(config);
}

// A server tells how it syncs in its statistics only, to those who may ask for them. Of a stream in a cluster it is not
// known which servers would have to be asked.
void look_for_sync(NatsLink& link, const JetStream& wanted, const boost::json::object& info,
                   std::function<void(const StreamLook&)> done) {
  if (wanted.accept_unsynced || info.contains("cluster")) return done(judge_stream(wanted, info, false));
  ask_jetstream(link, "$SYS.REQ.SERVER." + link.server_id() + ".VARZ", "",
                [&wanted, info, done](const JetStreamAnswer& answer) {
                  const bool always = flag_in(answer.body, {"data", "jetstream", "config", "sync_always"});
                  done(judge_stream(wanted, info, answer.ok() && always));
                });
}

}  // namespace

void check_jetstream(const JetStream& wanted) {
  check_nats_name("the name of a stream", wanted.name);
  if (wanted.age_min < Duration::zero()) throw Invalid("NATS_LIMIT", "age_min of a NATS stream must not be below zero");
  if (wanted.make && (wanted.make->subjects.empty() || wanted.make->replicas < 1 ||
                      (wanted.make->max_age != Duration::zero() && wanted.make->max_age < wanted.age_min)))
    throw Invalid("NATS_LIMIT",
                  "a NATS stream that is made needs subjects, one replica or more, and a max_age of zero (none) or of "
                  "age_min or more");
}

void look_at_stream(NatsLink& link, const JetStream& wanted, std::function<void(const StreamLook&)> done) {
  ask_jetstream(link, "$JS.API.STREAM.INFO." + wanted.name, "", [&link, &wanted, done](const JetStreamAnswer& info) {
    if (info.ok()) return look_for_sync(link, wanted, info.body, done);
    if (info.status != 404) return done({.why = unusable(wanted, info.error)});
    if (!wanted.make) return done({.why = unusable(wanted, "it does not exist; make it on the server")});
    ask_jetstream(link, "$JS.API.STREAM.CREATE." + wanted.name, create_request(wanted),
                  [&link, &wanted, done](const JetStreamAnswer& made) {
                    if (made.ok()) return look_for_sync(link, wanted, made.body, done);
                    done({.why = unusable(wanted, "it does not exist and cannot be made: " + made.error)});
                  });
  });
}

StreamLook judge_stream(const JetStream& wanted, const boost::json::object& info, bool synced) {
  StreamLook look;
  const std::string dropping = way_to_drop(wanted, info);
  if (!dropping.empty() && !wanted.accept_drops)
    look.why = unusable(wanted, dropping + ", or accept it by accept_drops");
  else if (!synced && !wanted.accept_unsynced) look.why = unusable(wanted, how_unsynced(info));
  if (const auto& subjects = value_in(info, {"config", "subjects"}); subjects.is_array())
    for (const auto& one : subjects.get_array())
      if (one.is_string()) look.subjects.emplace_back(one.get_string());
  look.max_age = duration_in(info, {"config", "max_age"});
  return look;
}

bool covers_subject(std::string_view pattern, std::string_view subject) {
  const auto cut_token = [](std::string_view& text) {
    const std::size_t dot = text.find('.');
    const std::string_view token = text.substr(0, dot);
    text = dot == text.npos ? std::string_view() : text.substr(dot + 1);
    return token;
  };
  while (!pattern.empty() && !subject.empty()) {
    const std::string_view token = cut_token(pattern);
    if (token == ">") return true;
    if (const std::string_view own = cut_token(subject); token != "*" && token != own) return false;
  }
  return pattern.empty() && subject.empty();
}

void Complaint::say(const std::string& why) {
  if (std::exchange(why_, why) != why) observer_.log(Observer::Level::error, why);
}

}  // namespace skald
