#include "sim/post_office.h"

#include <utility>

#include "bus/letter_text.h"
#include "skald/error.h"

namespace skald::sim {
namespace {

constexpr int kSilent = 300;  // per mille: nobody knows yet that a process is gone

}  // namespace

void PostOffice::arrive(const std::string& service, std::string text, Reply reply) {
  if (site_.presence(service) == PostSite::Presence::gone) {
    if (stage_.dice.chance(kSilent)) return;
    stage_.markers.hit(Marker::post_nobody_there);
    return reply(std::nullopt);
  }
  boxes_[service].push_back({std::move(text), std::move(reply)});
  if (boxes_[service].size() == 1) open_soon(service, stage_.dice.between(0ms, 20ms));
}

void PostOffice::clear(std::string_view service) {
  if (const auto box = boxes_.find(service); box != boxes_.end()) box->second.clear();
}

void PostOffice::open_soon(const std::string& service, Duration in) {
  network_.carry(stage_.now() + in, [this, service] { open(service); });
}

void PostOffice::open(const std::string& service) {
  if (boxes_[service].empty()) return;
  if (site_.presence(service) != PostSite::Presence::there) {
    stage_.markers.hit(Marker::letter_waits_for_process);
    return open_soon(service, stage_.dice.between(100ms, 1s));
  }
  const std::vector<Mail> mails = std::exchange(boxes_[service], {});
  std::vector<Answer> answers;
  const bool whole = site_.open(service, [&](Engine& engine) { answers = take(engine, mails); });
  if (!whole) return;
  for (Answer& answer : answers) mails[answer.mail].reply(std::move(answer.text));
}

std::vector<PostOffice::Answer> PostOffice::take(Engine& engine, const std::vector<Mail>& mails) {
  std::vector<Answer> answers;
  std::vector<Letter> letters;
  std::vector<std::size_t> of_letters;
  for (std::size_t i = 0; i < mails.size(); ++i) {
    try {
      auto read = read_post(mails[i].text);
      if (auto* letter = std::get_if<Letter>(&read)) {
        letters.push_back(std::move(*letter));
        of_letters.push_back(i);
      } else {
        answers.push_back({i, knowledge_text(engine.answer(std::get<Inquiry>(read)))});
      }
    } catch (const Error& error) {
      if (error.code() == "DATABASE_UNAVAILABLE") stage_.markers.hit(Marker::question_unanswered);
      else stage_.markers.hit(Marker::letter_truncated);
      stage_.trace.note(stage_.now(), {"  not read:", error.code()});
    }
  }
  if (letters.empty()) return answers;
  if (letters.size() > 1) stage_.markers.hit(Marker::letters_together);
  const auto receipts = engine.accept(letters);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    mark(letters[i], receipts[i]);
    answers.push_back({of_letters[i], receipt_text(receipts[i])});
  }
  return answers;
}

void PostOffice::mark(const Letter& letter, const Receipt& receipt) {
  static constexpr std::string_view kinds[] = {"landed", "gap", "busy"};
  stage_.trace.note(stage_.now(), {"  letter", std::to_string(letter.partition), std::to_string(letter.number),
                                   std::to_string(letter.ids.size()), kinds[static_cast<std::size_t>(receipt.kind)],
                                   std::to_string(receipt.last)});
  using Kind = Receipt::Kind;
  if (receipt.kind == Kind::busy) stage_.markers.hit(Marker::receiver_busy);
  if (receipt.kind == Kind::gap && receipt.last > letter.number) stage_.markers.hit(Marker::letter_behind_newer);
  if (receipt.kind == Kind::landed && letter.again) stage_.markers.hit(Marker::letter_again);
}

}  // namespace skald::sim
