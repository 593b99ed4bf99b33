#include "agentflow/mailroom.h"

#include <sys/inotify.h>
#include <unistd.h>

#include "agentflow/events.h"
#include "skald/secret_mask.h"

namespace agentflow {
namespace {

constexpr std::size_t kQueryIdMax = 200;
constexpr std::size_t kRequestValuesMax = 16;  // JSON values of a request

std::optional<AgentRequest> read_request(const std::string& text) {
  try {
    skald::json::parse(text, kRequestValuesMax);
    AgentRequest request = skald::from_json<AgentRequest>(text);
    const bool fits =
        !request.text.empty() && request.text.size() <= kSaidMax && request.query.value_or("").size() <= kQueryIdMax;
    return fits ? std::optional(std::move(request)) : std::nullopt;
  } catch (const skald::Invalid&) {
    return std::nullopt;
  }
}

}  // namespace

Mailroom::Mailroom(skald::Env env, SpaceOf space_of, SecretsOf secrets_of)
    : env_(env),
      space_of_(std::move(space_of)),
      secrets_of_(std::move(secrets_of)),
      watch_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

Mailroom::~Mailroom() {
  if (watch_ >= 0) ::close(watch_);
}

Mailroom::Box* Mailroom::open(const std::string& run, const std::string& work_id) {
  auto found = boxes_.find(run);
  if (found == boxes_.end()) {
    const auto space = space_of_(work_id);
    if (!space) return nullptr;
    found = boxes_.emplace(run, Box{*space}).first;
  }
  Box& box = found->second;
  if (!box.mailbox) {
    if (auto mailbox = Mailbox::at(box.space, run)) box.mailbox.emplace(std::move(*mailbox));
    // By its descriptor: the name may lead elsewhere by now.
    if (box.mailbox && watch_ >= 0)
      box.mark = ::inotify_add_watch(watch_, ("/proc/self/fd/" + std::to_string(box.mailbox->fd())).c_str(),
                                     IN_CREATE | IN_MOVED_TO);
  }
  return box.mailbox ? &box : nullptr;
}

Mailroom::Mail Mailroom::collect(const std::string& run, const std::string& work_id, std::size_t messages_max) {
  Mail out;
  Box* const box = open(run, work_id);
  if (box == nullptr) return out;
  for (out.next = box->next; out.next <= kRequestsMax && out.messages.size() < messages_max; ++out.next) {
    const Mailbox::Reading reading = box->mailbox->read(request_file(out.next));
    if (!reading.is_there) break;
    auto request = reading.text ? read_request(*reading.text) : std::nullopt;
    if (request) {
      request->text = skald::masked(secrets_of_(run), request->text);
      out.messages.push_back(said(run, work_id, out.next, *request));
    } else if (out.next > box->told) {
      box->told = out.next;
      env_.observer.log(skald::Observer::Level::warn, "an agent has put something into its mailbox that is no request",
                        "\"run\":" + skald::to_json(run) + ",\"request\":" + std::to_string(out.next));
    }
  }
  return out;
}

void Mailroom::taken(const std::string& run, int next) {
  if (const auto found = boxes_.find(run); found != boxes_.end()) found->second.next = next;
}

skald::Message Mailroom::said(const std::string& run, const std::string& work_id, int n,
                              const AgentRequest& request) const {
  return {{.id = "agent-said/" + run + "/" + std::to_string(n),
           .type = std::string(kAgentSaid),
           .key = work_id,
           .subject = work_id,
           .payload = skald::to_json(AgentSaid{run, n, request})},
          "/agentflow/agents",
          env_.clock.now(),
          1,
          false};
}

void Mailroom::forget(const std::string& run) {
  const auto found = boxes_.find(run);
  if (found == boxes_.end()) return;
  if (found->second.mark >= 0) ::inotify_rm_watch(watch_, found->second.mark);
  boxes_.erase(found);
}

void Mailroom::drain() {
  char bytes[4096];
  while (watch_ >= 0 && ::read(watch_, bytes, sizeof bytes) > 0) {}
}

}  // namespace agentflow
