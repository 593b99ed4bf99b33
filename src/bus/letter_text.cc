#include "bus/letter_text.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "bus/cloud_event_reader.h"
#include "skald/error.h"
#include "skald/json.h"

namespace skald {
namespace {

// The first line of each kind; `post` is the version of it.
struct LetterHead {
  int post = 1;
  std::string sender;
  int partition = 0;
  std::int64_t number = 0;
  std::string former;
  bool again = false;
  std::vector<std::string> ids;
  std::int64_t bytes = 0;  // that follow
};
BOOST_DESCRIBE_STRUCT(LetterHead, (), (post, sender, partition, number, former, again, ids, bytes))

struct InquiryHead {
  int post = 1;
  std::string inquirer;
  std::vector<std::string> ids;
};
BOOST_DESCRIBE_STRUCT(InquiryHead, (), (post, inquirer, ids))

struct ReceiptLine {
  int post = 1;
  std::string receipt;
  std::int64_t last = 0;
  std::string chain, former;
  std::vector<std::string> ids;
};
BOOST_DESCRIBE_STRUCT(ReceiptLine, (), (post, receipt, last, chain, former, ids))

struct Last {
  int partition = 0;
  std::int64_t number = 0;
  std::string chain;
};
BOOST_DESCRIBE_STRUCT(Last, (), (partition, number, chain))
struct KnowledgeLine {
  int post = 1;
  std::vector<Last> lasts;
  std::vector<std::string> ids;
  Time since{};
};
BOOST_DESCRIBE_STRUCT(KnowledgeLine, (), (post, lasts, ids, since))

// Members that only a later version knows are left out.
template <Described T>
T read_lenient(std::string_view text) {
  auto value = json::parse(text);
  if (!value.is_object()) json::fail("", "an object");
  boost::json::object known;
  boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
    const std::string name = to_camel(member.name);
    if (auto* found = value.get_object().if_contains(name)) known.emplace(name, std::move(*found));
  });
  return json::read<T>(std::move(known), "");
}

constexpr std::string_view kKinds[] = {"landed", "gap", "busy"};  // as Receipt::Kind

Invalid not_a_letter(const std::string& why) { return Invalid("NOT_A_LETTER", "this is no letter: " + why); }

void check_head(const LetterHead& head) {
  if (head.sender.empty() || head.sender.size() > 100) throw not_a_letter("it has no sender");
  if (head.partition < 0 || head.partition >= kPartitions) throw not_a_letter("there is no such partition");
  if (head.number < 1) throw not_a_letter("it has no number");
}

}  // namespace

std::string letter_text(const Letter& letter) {
  std::string events;
  for (const Message& message : letter.events) events += (events.empty() ? '[' : ',') + cloud_event(message);
  events += events.empty() ? "[]" : "]";
  return to_json(LetterHead{1, letter.sender, letter.partition, letter.number, letter.former, letter.again, letter.ids,
                            std::ssize(events)}) +
         '\n' + events;
}

std::string inquiry_text(const Inquiry& inquiry) { return to_json(InquiryHead{1, inquiry.sender, inquiry.ids}); }

std::string receipt_text(const Receipt& receipt) {
  const std::string_view kind = kKinds[static_cast<std::size_t>(receipt.kind)];
  return to_json(ReceiptLine{1, std::string(kind), receipt.last, receipt.chain, receipt.former, receipt.ids});
}

std::string knowledge_text(const Knowledge& knowledge) {
  KnowledgeLine line{1, {}, knowledge.ids, knowledge.since};
  for (const auto& [partition, place] : knowledge.lasts) line.lasts.push_back({partition, place.number, place.chain});
  return to_json(line);
}

std::variant<Letter, Inquiry> read_post(std::string_view text) {
  const std::size_t end = text.find('\n');
  const std::string_view head = text.substr(0, end);
  if (end == text.npos) {
    auto inquiry = read_lenient<InquiryHead>(head);
    if (inquiry.inquirer.empty()) throw not_a_letter("it has no sender");
    return Inquiry{std::move(inquiry.inquirer), std::move(inquiry.ids)};
  }
  auto read = read_lenient<LetterHead>(head);
  check_head(read);
  const std::string_view events = text.substr(end + 1);
  if (std::ssize(events) != read.bytes) throw Malformed("NOT_A_LETTER", "a part of it is missing");
  Letter letter{
      std::move(read.sender), read.partition, read.number, std::move(read.former), read.again, std::move(read.ids), {}};
  for (const std::string_view one : split_cloud_events(events)) {
    try {
      letter.events.push_back(read_cloud_event(one));
      if (partition_of(letter.events.back().event.key) == letter.partition) continue;
      letter.events.pop_back();
      throw not_a_letter("its key belongs to another partition");
    } catch (const Error& error) {
      letter.unreadable.push_back({std::string(one), error.what()});
    }
  }
  return letter;
}

Receipt read_receipt(std::string_view text) {
  auto line = read_lenient<ReceiptLine>(text);
  const auto kind = std::ranges::find(kKinds, line.receipt);
  if (kind == std::end(kKinds)) throw Invalid("NOT_A_RECEIPT", "this is no receipt of a letter");
  return {static_cast<Receipt::Kind>(kind - std::begin(kKinds)), line.last, std::move(line.chain),
          std::move(line.former), std::move(line.ids)};
}

Knowledge read_knowledge(std::string_view text) {
  auto line = read_lenient<KnowledgeLine>(text);
  Knowledge out{{}, std::move(line.ids), line.since};
  for (const Last& last : line.lasts) out.lasts[last.partition] = {last.number, last.chain};
  return out;
}

}  // namespace skald
