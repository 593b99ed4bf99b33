// Webhook bodies that Discord takes.
#pragma once

#include <string>
#include <string_view>

namespace skald {

// {"content":…} with the text cut to Discord's 2000 characters. Nobody is pinged
// and no link is unfolded, whatever the text says.
std::string discord_body(std::string_view text);

// Text of a stranger, made harmless inside of a message: it is shown as written,
// on one line, so that a donor cannot format, link, or fake a second
// announcement. For template functions; the whole message is not escaped again.
std::string escape_markdown(std::string_view text);

}  // namespace skald
