#include "agentflow/own_mcp.h"

#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "agentflow/brief.h"
#include "agentflow/mailbox.h"
#include "agentflow/queries.h"

namespace agentflow {
namespace {

constexpr int kLookForAnswer = 2'000;  // milliseconds: a file system may tell of nothing

// The agent's side of a mailbox.
class AgentDesk {
 public:
  AgentDesk(const skald::Clock& clock, Mailbox mailbox, int input)
      : clock_(clock), mailbox_(std::move(mailbox)), input_(input) {}

  int put(const AgentRequest& request) {
    if (request.text.empty() || request.text.size() > kSaidMax)
      throw skald::Invalid("BAD_TEXT_LENGTH",
                           "say something of at most 64 KiB: shorten it, or write the rest to a file");
    const std::string text = skald::to_json(request);
    for (; next_ <= kRequestsMax; ++next_)
      if (mailbox_.add(request_file(next_), text)) return next_++;
    throw skald::Refused("MAILBOX_FULL", "a run may say 1,000 things, and this one has: go on without");
  }

  // One that asks the same again, because it was interrupted, waits for the answer that is under way.
  std::string ask(const std::string& question) {
    const AgentRequest request{.kind = RequestKind::ask, .text = question};
    const int n = unanswered(request).value_or(0);
    return wait_for_answer(n > 0 ? n : put(request));
  }

  Brief brief() const {
    const auto text = mailbox_.read(kBriefFile).text;
    if (!text) throw skald::Unavailable("NO_MAILBOX", "the brief of this task is gone: go on with what you know");
    Brief out = skald::from_json<Brief>(*text);
    for (std::int64_t k = 1; k <= kQueriesMax; ++k)
      if (const auto query = mailbox_.read(query_file(k)).text)
        out.queries.push_back(skald::from_json<MailQuery>(*query));
    return out;
  }

  // It is not told of the query again.
  void answer(const std::string& query, const std::string& text) {
    const std::vector<MailQuery> known = brief().queries;
    if (std::ranges::find(known, query, &MailQuery::id) == known.end())
      throw skald::Refused("NO_SUCH_QUERY", "there is no query of this id that waits: read says which there are");
    put({.kind = RequestKind::answer, .text = text, .query = query});
    mailbox_.remove("query-" + query.substr(query.rfind(".q") + 2) + ".json");
  }

 private:
  std::optional<int> unanswered(const AgentRequest& request) const {
    const std::string text = skald::to_json(request);
    for (int n = 1; n <= kRequestsMax; ++n) {
      const Mailbox::Reading reading = mailbox_.read(request_file(n));
      if (!reading.is_there) break;
      if (reading.text == text && !mailbox_.read(answer_file(n)).is_there) return n;
    }
    return std::nullopt;
  }

  std::string wait_for_answer(int n) const {
    const skald::Instant end = clock_.steady() + kAskMax;
    const std::unique_ptr<int, void (*)(int*)> watch(new int(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), [](int* fd) {
      if (*fd >= 0) ::close(*fd);
      delete fd;
    });
    ::inotify_add_watch(*watch, ("/proc/self/fd/" + std::to_string(mailbox_.fd())).c_str(), IN_CREATE | IN_MOVED_TO);
    while (clock_.steady() < end) {
      if (const auto text = mailbox_.read(answer_file(n)).text) return skald::from_json<MailAnswer>(*text).answer;
      pollfd all[] = {{*watch, POLLIN, 0}, {input_, 0, 0}};
      ::poll(all, 2, kLookForAnswer);
      if ((all[1].revents & (POLLHUP | POLLERR)) != 0) break;  // nobody waits any more
      char bytes[4096];
      while (::read(*watch, bytes, sizeof bytes) > 0) {}
    }
    throw skald::Refused("NO_ANSWER_YET", "nobody has answered yet: ask the same again to go on waiting");
  }

  const skald::Clock& clock_;
  Mailbox mailbox_;
  int input_;
  int next_ = 1;
};

}  // namespace

McpTools mailbox_tools(const skald::Clock& clock, const std::string& mailbox, int input) {
  auto opened = Mailbox::at(mailbox);
  if (!opened) throw skald::Unavailable("NO_MAILBOX", "there is no mailbox here: it belongs to a run of an agent");
  const auto desk = std::make_shared<AgentDesk>(clock, std::move(*opened), input);
  return {
      .report =
          [desk](const std::string& text) {
            if (!desk->brief().wants_report)
              throw skald::Refused("NO_REPORT", "this work wants no report: go on without");
            desk->put({.kind = RequestKind::report, .text = text});
          },
      .ask = [desk](const std::string& question) { return desk->ask(question); },
      .complete = [desk](const std::string& summary) { desk->put({.kind = RequestKind::complete, .text = summary}); },
      .read = [desk] { return skald::RawJson{skald::to_json(desk->brief())}; },
      .answer = [desk](const std::string& query, const std::string& text) { desk->answer(query, text); }};
}

int serve_own_mcp(const skald::Clock& clock, const std::string& mailbox, std::istream& in, std::ostream& out,
                  std::string_view version) {
  if (mailbox.empty())
    throw skald::Invalid("USAGE", "skald mcp is started by an agent of a workflow, which has SKALD_MAILBOX set");
  ::signal(SIGPIPE, SIG_IGN);
  serve_mcp(in, out, mailbox_tools(clock, mailbox, STDIN_FILENO), version);
  return 0;
}

}  // namespace agentflow
