#include "http/error_pages.h"

#include <algorithm>
#include <vector>

namespace skald::http {
namespace {

constexpr const char* kHtml = "text/html; charset=utf-8";

// "| `CODE` | what it means |" below "### Group".
std::vector<ErrorCode> read_codes(std::string_view document) {
  std::vector<ErrorCode> out;
  std::string_view group;
  while (!document.empty()) {
    const std::size_t end = std::min(document.find('\n'), document.size());
    std::string_view line = document.substr(0, end);
    document.remove_prefix(std::min(end + 1, document.size()));
    if (line.starts_with("### ")) group = line.substr(4);
    const std::size_t middle = line.find("` | ");
    if (!line.starts_with("| `") || !line.ends_with(" |") || middle == line.npos) continue;
    line.remove_suffix(2);
    out.push_back({line.substr(3, middle - 3), group, line.substr(middle + 4)});
  }
  return out;
}

// Text with `code` in it.
std::string html(std::string_view markdown) {
  std::string out;
  bool in_code = false;
  for (const char c : markdown) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '`':
        in_code = !in_code;
        out += in_code ? "<code>" : "</code>";
        break;
      default: out += c;
    }
  }
  return out;
}

Response page(const std::string& title, const std::string& body) {
  return {200,
          "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + html(title) +
              "</title></head>\n<body>\n<h1>" + html(title) + "</h1>\n" + body + "</body></html>\n",
          kHtml,
          {{"content-security-policy", "default-src 'none'"}}};
}

Response list_codes() {
  std::string body;
  std::string_view group;
  for (const ErrorCode& each : error_codes()) {
    if (each.group != group) {
      if (!group.empty()) body += "</dl>\n";
      body += "<h2>" + html(each.group) + "</h2>\n<dl>\n";
    }
    group = each.group;
    const std::string code(each.code);
    body += "<dt><a href=\"/docs/errors/" + code + "\">" + code + "</a></dt><dd>" + html(each.text) + "</dd>\n";
  }
  return page("Error codes", body + "</dl>\n");
}

Response show_code(const std::string& code) {
  const auto found = std::ranges::find(error_codes(), std::string_view(code), &ErrorCode::code);
  if (found == error_codes().end())
    throw NotFound("UNKNOWN_PATH", "this program has no error of that code; /docs/errors lists those that it has");
  return page(code, "<p>" + html(found->text) + "</p>\n<p><a href=\"/docs/errors\">All codes</a></p>\n");
}

Doc html_page(std::string summary) {
  Doc doc = describe<void, void>(std::move(summary));
  doc.content_type = kHtml;
  return doc;
}

}  // namespace

std::span<const ErrorCode> error_codes() {
  static const std::vector<ErrorCode> codes = read_codes(kErrorsDocument);
  return codes;
}

void add_error_pages(Router& router) {
  router.get("/docs/errors", Access::open, html_page("Every code of a problem"),
             [](const Request&) { return list_codes(); });
  router.get("/docs/errors/{code}", Access::open, html_page("What a code means, and what to do"),
             [](const Request& request) { return show_code(request.param("code")); });
}

}  // namespace skald::http
