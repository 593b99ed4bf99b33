#include "sim_kit/fault.h"

#include <charconv>

#include "skald/error.h"
#include "skald/json.h"

namespace skald::sim::kit {
namespace {

[[noreturn]] void refuse(std::string_view text) {
  throw Invalid("SIM_TOKEN", "'" + std::string(text) + "' names no run: copy the token from a failure");
}

template <class Number>
Number number_in(std::string_view digits, std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) refuse(text);
  return number;
}

}  // namespace

bool applies(Kind kind, const Place& place) {
  const bool remote = place.what == Place::What::remote;
  switch (kind) {
    case Kind::crash_before:
    case Kind::crash_after:
    case Kind::answer_lost:
    case Kind::commit_fails:
    case Kind::runs_twice: return place.what == Place::What::commit;
    case Kind::too_late: return place.what == Place::What::commit && place.has_deadline;
    case Kind::busy: return place.what == Place::What::local;
    // Where there is a way back it is a Refusal, which lasts.
    case Kind::refused: return place.what != Place::What::commit && !place.way_back && !place.happened;
    case Kind::unavailable:
    case Kind::lost_there:
    case Kind::lost_back:
    case Kind::called_twice:
    case Kind::late: return remote;
    case Kind::overtaken: return remote && place.cancellable;
  }
  return false;
}

std::string text_of(const Token& token) {
  if (token.seed) return "seed=" + std::to_string(*token.seed);
  std::string out = token.refusal > 0 ? "refuse=" + std::to_string(token.refusal) : "";
  if (token.fault)
    out +=
        (out.empty() ? "" : "+") + std::string(enum_name(token.fault->kind)) + "=" + std::to_string(token.fault->nth);
  return out.empty() ? "undisturbed" : out;
}

Token parse_token(std::string_view text) {
  Token token;
  if (text == "undisturbed") return token;
  if (text.ends_with('+')) refuse(text);
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find('+'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) refuse(text);
    const std::string name(part.substr(0, equals));
    const std::string_view digits = part.substr(equals + 1);
    Kind kind{};
    if (name == "seed") token.seed = number_in<std::uint64_t>(digits, text);
    else if (name == "refuse") token.refusal = number_in<int>(digits, text);
    else if (boost::describe::enum_from_string(name.c_str(), kind)) token.fault = {kind, number_in<int>(digits, text)};
    else refuse(text);
  }
  return token;
}

std::string words_for(Kind kind, const Place& place) {
  switch (kind) {
    case Kind::crash_before: return "crash before the commit that would have stored " + place.text;
    case Kind::crash_after: return "crash after the commit that stored " + place.text;
    case Kind::answer_lost: return "the commit that stored " + place.text + " happened, and its answer was lost";
    case Kind::commit_fails: return "the commit that would have stored " + place.text + " failed";
    case Kind::runs_twice: return "the transaction that stored " + place.text + " ran twice";
    case Kind::too_late: return "the deadline passed after the commit that stored " + place.text;
    case Kind::busy: return place.text + " was busy";
    case Kind::refused: return place.text + " was refused";
    case Kind::unavailable: return "nobody answered the call of " + place.text;
    case Kind::lost_there: return "the call of " + place.text + " was lost on the way there";
    case Kind::lost_back: return "the call of " + place.text + " happened, and its answer was lost";
    case Kind::called_twice: return "the call of " + place.text + " was made twice";
    case Kind::late: return "the call of " + place.text + " was late: it was made again, and arrived after all else";
    case Kind::overtaken:
      return "the call of " + place.text + " was overtaken: the deadline passed, it was cancelled, then it arrived";
  }
  return {};
}

}  // namespace skald::sim::kit
