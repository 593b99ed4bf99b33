// Any bytes as the head of a request, read by the server's reader and by a second one, written
// from RFC 9112 alone: what the first takes, the second takes too, and reads it alike. A head
// that two readers understand differently is how a request is smuggled past one of them.
//
// Bytes below 32 stand for pieces of heads, so that the fuzzer finds its way without examples;
// 31 gives the next byte as it is.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "http/request_head.h"

namespace {

constexpr std::string_view kPieces[] = {"GET ",
                                        "POST ",
                                        "/",
                                        " HTTP/1.1\r\n",
                                        " HTTP/1.0\r\n",
                                        "\r\n",
                                        "\r\n\r\n",
                                        "Transfer-Encoding: ",
                                        "Content-Length: ",
                                        "chunked",
                                        "identity",
                                        "gzip",
                                        ", ",
                                        "0",
                                        "5",
                                        "Host: a\r\n",
                                        "Connection: keep-alive\r\n",
                                        "\"chunked\"",
                                        "transfer-encoding:",
                                        "CONTENT-LENGTH:",
                                        " ",
                                        "\t",
                                        ":",
                                        ";q=1",
                                        "\r",
                                        "\n",
                                        "POST / HTTP/1.1\r\n",
                                        "Transfer-Encoding: chunked\r\n",
                                        "Content-Length: 3\r\n",
                                        "x: y\r\n",
                                        "18446744073709551616"};

std::string expanded(const unsigned char* data, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] < std::size(kPieces)) out += kPieces[data[i]];
    else if (data[i] == 31 && i + 1 < size) out += static_cast<char>(data[++i]);
    else out += static_cast<char>(data[i]);
  }
  return out;
}

// How much white space a folded line leaves is nobody's business.
std::string without_space(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t'; });
  return text;
}

struct Read {
  std::string method, target;
  int version = 0;
  std::map<std::string, std::string, std::less<>> headers;  // as Request has them, without white space
  bool chunked = false;
  std::uint64_t length = 0;
  bool operator==(const Read&) const = default;
};

// The second reader. It takes the bytes up to and including the first empty line.
class Strict {
 public:
  static std::optional<Read> read(std::string_view head) {
    Strict reader{head};
    if (!reader.request_line()) return std::nullopt;
    while (!reader.rest_.starts_with("\r\n"))
      if (!reader.field()) return std::nullopt;
    if (reader.rest_ != "\r\n" || !reader.frame()) return std::nullopt;
    return reader.out_;
  }

 private:
  explicit Strict(std::string_view head) : rest_(head) {}

  static bool is_token_character(unsigned char c) {
    return std::isalnum(c) != 0 || (c != 0 && std::strchr("!#$%&'*+-.^_`|~", c) != nullptr);
  }
  std::string take_while(bool (*holds)(unsigned char)) {
    std::size_t end = 0;
    while (end < rest_.size() && holds(static_cast<unsigned char>(rest_[end]))) ++end;
    std::string out(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return out;
  }
  bool skip(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  bool request_line() {
    out_.method = take_while(is_token_character);
    if (out_.method.empty() || !skip(" ")) return false;
    out_.target = take_while([](unsigned char c) { return c > ' ' && c != 0x7f; });
    if (out_.target.empty() || !skip(" HTTP/1.")) return false;
    out_.version = rest_.starts_with('1') ? 11 : rest_.starts_with('0') ? 10 : 0;
    if (out_.version == 0) return false;
    rest_.remove_prefix(1);
    return skip("\r\n");
  }

  // A line that goes on after a line break and a space is one line with a space there (5.2).
  bool field() {
    std::string name = take_while(is_token_character);
    if (name.empty() || !skip(":")) return false;
    std::string value;
    do {
      if (!value.empty()) value += ' ';
      value += trimmed(take_while([](unsigned char c) { return c == '\t' || (c >= ' ' && c != 0x7f); }));
      if (!skip("\r\n")) return false;
    } while (rest_.starts_with(' ') || rest_.starts_with('\t'));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    value = trimmed(value);
    if (name == "transfer-encoding") codings_.push_back(value);
    if (name == "content-length") lengths_.push_back(value);
    auto [place, fresh] = out_.headers.try_emplace(name, without_space(value));
    if (!fresh) place->second.append(",").append(without_space(value));
    return true;
  }

  static std::string trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return std::string(text);
  }

  bool frame() {
    if (!codings_.empty()) {
      std::string coding = codings_[0];
      std::ranges::transform(coding, coding.begin(), [](unsigned char c) { return std::tolower(c); });
      out_.chunked = true;
      return codings_.size() == 1 && lengths_.empty() && coding == "chunked" && out_.version == 11;
    }
    if (lengths_.empty()) return true;
    if (lengths_.size() > 1 || lengths_[0].empty()) return false;
    for (const char c : lengths_[0]) {
      if (c < '0' || c > '9' || out_.length > (UINT64_MAX - 9) / 10) return false;
      out_.length = out_.length * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return true;
  }

  std::string_view rest_;
  Read out_;
  std::vector<std::string> codings_, lengths_;
};

// As a session reads it.
std::optional<Read> read_as_served(std::string_view bytes, std::size_t& taken) {
  using namespace skald::http;
  RequestParser parser;
  parser.header_limit(16 * 1024);
  parser.body_limit(boost::none);
  boost::system::error_code failure;
  taken = parser.put(boost::asio::buffer(bytes), failure);
  if (failure || !parser.is_header_done() || framing_problem(parser)) return std::nullopt;
  skald::Request request;
  take_head(parser, request);
  for (auto& [name, value] : request.headers) value = without_space(value);
  return Read{request.method,  request.path,     static_cast<int>(parser.get().version()),
              request.headers, parser.chunked(), parser.content_length().value_or(0)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string bytes = expanded(data, size);
  std::size_t taken = 0;
  const auto served = read_as_served(bytes, taken);
  if (served && Strict::read(std::string_view(bytes).substr(0, taken)) != served) std::abort();
  // And the other way round: nothing is refused that is clear.
  const std::size_t end = bytes.find("\r\n\r\n");
  if (served || end == std::string::npos || end > 2 * 1024) return 0;
  if (const auto strict = Strict::read(std::string_view(bytes).substr(0, end + 4)))
    if (!strict->headers.contains("connection") && !strict->headers.contains("proxy-connection")) std::abort();
  return 0;
}
