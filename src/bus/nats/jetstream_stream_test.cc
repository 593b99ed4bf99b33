// Which streams are used, and what is said of the others.
#include "bus/nats/jetstream_stream.h"

#include <gmock/gmock.h>

#include "bus/nats/nats_fixture.h"
#include "skald/error.h"

namespace skald::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JetStreamStreamTest : public ::testing::Test, protected Scene {
 protected:
  JetStream wanted(bool drops, bool unsynced) const {
    return {.nats = {.urls = {shared_nats_url()}}, .name = stream, .accept_drops = drops, .accept_unsynced = unsynced};
  }
  // Why the stream is not used; empty: it is.
  std::string look(const JetStream& chosen) {
    std::optional<std::string> why;
    NatsLink link(
        env, chosen.nats,
        {.up = [&] { look_at_stream(link, chosen, [&](const StreamLook& seen) { why = seen.why; }); }, .down = [] {}});
    while (!why) link.poll(1s, {});
    return *why;
  }

  const std::string stream = unused_topic();
  NatsPeer peer{shared_nats_url()};
};

TEST_F(JetStreamStreamTest, AStreamThatMayDropUnreadMessagesIsRefusedByTheNameOfTheSettingOrAccepted) {
  const std::pair<const char*, const char*> settings[] = {
      {R"("max_bytes":100000)", "its max_bytes"},
      {R"("max_msgs":100)", "its max_msgs makes"},
      {R"("max_msgs_per_subject":10)", "its max_msgs_per_subject"},
      {R"("max_msgs_per_subject":10,"discard":"new")", "its max_msgs_per_subject"},
      {R"("max_age":3600000000000)", "its max_age"},
      {R"("storage":"memory")", "its storage is memory"},
      {R"("retention":"interest")", "its retention is interest"},
      {R"("no_ack":true)", "its no_ack"},
  };
  for (const auto& [setting, named] : settings) {
    peer.make_stream(stream, stream + ".>", setting);
    EXPECT_THAT(look(wanted(false, true)), HasSubstr(named));
    EXPECT_EQ(look(wanted(true, true)), "") << setting;
    peer.do_it("STREAM.DELETE." + stream);
  }
}

TEST_F(JetStreamStreamTest, AStreamThatTakesNoMoreWhenItIsFullDropsNothing) {
  peer.make_stream(stream, stream + ".>",
                   R"("max_msgs":100,"max_bytes":100000,"discard":"new","max_age":86400000000000)");
  EXPECT_EQ(look(wanted(false, true)), "");
}

TEST_F(JetStreamStreamTest, AnUnsyncedStreamIsRefusedOrAccepted) {
  peer.make_stream(stream, stream + ".>");
  EXPECT_THAT(look(wanted(false, false)), HasSubstr("set sync_interval: always"));
  EXPECT_EQ(look(wanted(false, true)), "");
}

// As a server of version 2.10 answers to those who may ask.
TEST_F(JetStreamStreamTest, AServerThatSaysThatItSyncsEachWriteIsBelieved) {
  peer.make_stream(stream, stream + ".>");
  for (const bool always : {false, true}) {
    NatsPeer server(shared_nats_url());
    server.subscribe("$SYS.REQ.SERVER.*.VARZ", [&](natsMsg* question) {
      server.publish(natsMsg_GetReply(question), std::string(R"({"data":{"jetstream":{"config":{"sync_always":)") +
                                                     (always ? "true" : "false") + "}}}}");
    });
    EXPECT_EQ(look(wanted(false, false)).empty(), always);
    server.close();
  }
}

TEST_F(JetStreamStreamTest, ReplicasAreNamedAndAreNoProofOfTheirOwn) {
  const boost::json::object info{{"config", {{"storage", "file"}, {"num_replicas", 3}, {"discard", "old"}}}};
  EXPECT_THAT(judge_stream(wanted(false, false), info, false).why, HasSubstr("its 3 replicas may lose"));
}

TEST_F(JetStreamStreamTest, AStreamIsMadeOnlyWhereThatIsWanted) {
  JetStream chosen = wanted(false, true);
  EXPECT_THAT(look(chosen), HasSubstr("does not exist"));
  chosen.make = JetStream::New{.subjects = {stream + ".a", stream + ".b.>"}};
  EXPECT_EQ(look(chosen), "");
  EXPECT_EQ(look(chosen), "");
  const auto info = peer.do_it("STREAM.INFO." + stream);
  EXPECT_EQ(text_in(info, {"config", "storage"}), "file");
  EXPECT_EQ(text_in(info, {"config", "discard"}), "new");
}

TEST_F(JetStreamStreamTest, ARefusalIsSaidOnceUntilItChanges) {
  Complaint complaint(log);
  for (const char* why : {"a", "a", "b", "a"}) complaint.say(why);
  complaint.clear();
  complaint.say("a");
  EXPECT_THAT(log.lines(), ElementsAre("a", "b", "a", "a"));
}

TEST_F(JetStreamStreamTest, SubjectsAreCoveredAsTheServerSeesIt) {
  for (const auto& [pattern, subject] : std::vector<std::pair<const char*, const char*>>{
           {"a.b", "a.b"}, {"a.*", "a.b"}, {"*.b", "a.b"}, {"a.>", "a.b"}, {"a.>", "a.b.c"}, {">", "a"}})
    EXPECT_TRUE(covers_subject(pattern, subject)) << pattern << " " << subject;
  for (const auto& [pattern, subject] : std::vector<std::pair<const char*, const char*>>{
           {"a.b", "a.c"}, {"a.*", "a"}, {"a.*", "a.b.c"}, {"a.>", "a"}, {"a", "a.b"}, {"a.b", "a"}})
    EXPECT_FALSE(covers_subject(pattern, subject)) << pattern << " " << subject;
}

}  // namespace
}  // namespace skald::test
