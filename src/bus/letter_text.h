// Letters, receipts and questions as bytes. A line of JSON says what it is; behind a letter's come its events, as a
// CloudEvents batch. Members that this version does not know are ignored; what says that it needs a newer reader is
// refused (VERSION_TOO_NEW).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "skald/post.h"

namespace skald {

std::string letter_text(const Letter& letter);
std::string inquiry_text(const Inquiry& inquiry);
std::string receipt_text(const Receipt& receipt);
std::string knowledge_text(const Knowledge& knowledge);
// In place of a receipt or of knowledge, to a sender that is too new.
std::string refusal_text(std::string_view why);

// Throw Malformed or Invalid for what is cut short, or is something else. An event that cannot be read is not the
// letter's fault: it is among its `unreadable`.
std::variant<Letter, Inquiry> read_post(std::string_view text);
// These throw Refused (POST_REFUSED) for such a text.
Receipt read_receipt(std::string_view text);
Knowledge read_knowledge(std::string_view text);

}  // namespace skald
