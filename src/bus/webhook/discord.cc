#include "bus/webhook/discord.h"

#include "base/text.h"
#include "skald/json.h"

namespace skald {
namespace {

constexpr std::size_t kCharactersMax = 2000;

// Discord's unit is not documented: counted in UTF-16 units, which is never less
// than the count in characters, the limit holds under both readings.
std::string_view front_of(std::string_view text) {
  std::size_t units = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte & 0xc0) == 0x80) continue;
    units += byte >= 0xf0 ? 2 : 1;
    if (units > kCharactersMax) return text.substr(0, at);
  }
  return text;
}

}  // namespace

std::string discord_body(std::string_view text) {
  const std::string clean = cut_text(text, 4 * kCharactersMax);
  std::string out = "{\"content\":";
  json::write_string(out, front_of(clean));
  // 4: SUPPRESS_EMBEDS
  out += ",\"allowed_mentions\":{\"parse\":[]},\"flags\":4}";
  return out;
}

std::string escape_markdown(std::string_view text) {
  constexpr std::string_view special = "\\*_~`|>#-+[]()<@:.!";
  std::string out;
  out.reserve(text.size() + 16);
  for (char c : text) {
    if (c == '\n' || c == '\r') {
      out += ' ';
      continue;
    }
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace skald
