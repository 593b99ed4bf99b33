#include "bus/letter_text.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "base/edition.h"
#include "bus/cloud_event_reader.h"
#include "skald/error.h"

namespace skald {
namespace {

// The first line of each kind; `post` is the version of it (edition.h).
struct LetterHead {
  std::optional<int> post = 1;
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
  std::optional<int> post = 1;
  std::string inquirer;
  std::vector<std::string> ids;
};
BOOST_DESCRIBE_STRUCT(InquiryHead, (), (post, inquirer, ids))

struct ReceiptLine {
  std::optional<int> post = 1;
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
  std::optional<int> post = 1;
  std::vector<Last> lasts;
  std::vector<std::string> ids;
  Time since{};
};
BOOST_DESCRIBE_STRUCT(KnowledgeLine, (), (post, lasts, ids, since))

// Instead of a receipt, of knowledge: what came needs a newer reader.
struct RefusalLine {
  std::optional<int> post = 1;
  std::string refused;  // why
};
BOOST_DESCRIBE_STRUCT(RefusalLine, (), (post, refused))

constexpr int kKnown = 1;  // version of the post

// What may be a refusal.
template <Described T>
T read_answer(std::string_view text) {
  auto value = json::parse(text);
  must_be_readable(value, "an answer by the post", kKnown);
  const auto* object = value.if_object();
  if (object != nullptr && object->contains("refused"))
    throw Refused("POST_REFUSED", json::read_lenient<RefusalLine>(std::move(value)).refused);
  return json::read_lenient<T>(std::move(value));
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

std::string refusal_text(std::string_view why) { return to_json(RefusalLine{1, std::string(why)}); }

std::variant<Letter, Inquiry> read_post(std::string_view text) {
  const std::size_t end = text.find('\n');
  const std::string_view head = text.substr(0, end);
  if (end == text.npos) {
    auto inquiry = read_edition<InquiryHead>(head, "a question by the post", kKnown);
    if (inquiry.inquirer.empty()) throw not_a_letter("it has no sender");
    return Inquiry{std::move(inquiry.inquirer), std::move(inquiry.ids)};
  }
  auto read = read_edition<LetterHead>(head, "a letter of the post", kKnown);
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
  auto line = read_answer<ReceiptLine>(text);
  const auto kind = std::ranges::find(kKinds, line.receipt);
  if (kind == std::end(kKinds)) throw Invalid("NOT_A_RECEIPT", "this is no receipt of a letter");
  return {static_cast<Receipt::Kind>(kind - std::begin(kKinds)), line.last, std::move(line.chain),
          std::move(line.former), std::move(line.ids)};
}

Knowledge read_knowledge(std::string_view text) {
  auto line = read_answer<KnowledgeLine>(text);
  Knowledge out{{}, std::move(line.ids), line.since};
  for (const Last& last : line.lasts)
    if (last.partition >= 0 && last.partition < kPartitions) out.lasts[last.partition] = {last.number, last.chain};
  return out;
}

}  // namespace skald
