#include "chaos/verdict.h"

#include <map>

#include "skald/json.h"

namespace skald::chaos {

Verdict judge(const std::vector<test::HttpReceiver::Request>& requests, const std::set<std::string>& acknowledged) {
  Verdict verdict;
  std::map<std::string, std::string> body_of;          // by webhook-id
  std::map<std::string, std::string> event_of;         // by requestId
  std::map<std::string, std::int64_t> last_of_donor;
  for (const auto& request : requests) {
    const std::string& id = request.headers.at("webhook-id");
    const auto [first, fresh] = body_of.emplace(id, request.body);
    if (!fresh) {
      ++verdict.repeats;
      if (first->second != request.body) verdict.faults.push_back("event " + id + " was repeated with other bytes");
      continue;
    }
    const auto data = json::parse(request.body).at("data");
    const std::string request_id(data.at("requestId").as_string());
    const std::string donor(data.at("donor").as_string());
    if (!event_of.emplace(request_id, id).second)
      verdict.faults.push_back("donation " + request_id + " was announced as two events");
    const std::int64_t number = std::stoll(request_id.substr(request_id.find(':') + 1));
    if (const auto last = last_of_donor.find(donor); last != last_of_donor.end() && number <= last->second)
      verdict.faults.push_back("donation " + request_id + " came after number " + std::to_string(last->second));
    last_of_donor[donor] = number;
  }
  verdict.announced = event_of.size();
  for (const std::string& id : acknowledged)
    if (!event_of.contains(id)) verdict.faults.push_back("donation " + id + " was acknowledged and never announced");
  return verdict;
}

}  // namespace skald::chaos
