#include "store/sql_text.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "skald/error.h"

namespace skald {
namespace {

// The length of the literal, quoted name or comment at `at`; 0 where there is none.
std::size_t opaque_length(std::string_view sql, std::size_t at) {
  const std::string_view rest = sql.substr(at);
  if (rest[0] == '\'' || rest[0] == '"') {
    std::size_t i = 1;
    while (i < rest.size()) {
      if (rest[i] == rest[0]) {
        if (i + 1 < rest.size() && rest[i + 1] == rest[0]) {
          i += 2;
          continue;
        }
        return i + 1;
      }
      ++i;
    }
    return rest.size();
  }
  if (rest.starts_with("--")) return std::min(rest.find('\n'), rest.size());
  if (rest.starts_with("/*")) {
    const auto end = rest.find("*/", 2);
    return end == std::string_view::npos ? rest.size() : end + 2;
  }
  return 0;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string number_parameters(std::string_view sql) {
  std::string out;
  out.reserve(sql.size());
  for (std::size_t i = 0; i < sql.size();) {
    if (const auto length = opaque_length(sql, i)) {
      out += sql.substr(i, length);
      i += length;
    } else {
      out += sql[i] == '$' && i + 1 < sql.size() && is_digit(sql[i + 1]) ? '?' : sql[i];
      ++i;
    }
  }
  return out;
}

std::vector<std::string> split_statements(std::string_view sql) {
  std::vector<std::string> out;
  std::string current;
  const auto finish = [&] {
    if (!first_word(current).empty()) out.push_back(std::move(current));
    current.clear();
  };
  for (std::size_t i = 0; i < sql.size();) {
    if (const auto length = opaque_length(sql, i)) {
      current += sql.substr(i, length);
      i += length;
    } else if (sql[i] == ';') {
      finish();
      ++i;
    } else {
      current += sql[i++];
    }
  }
  finish();
  return out;
}

std::string first_word(std::string_view sql) {
  std::size_t i = 0;
  while (i < sql.size()) {
    if (std::isspace(static_cast<unsigned char>(sql[i])) || sql[i] == '(' || sql[i] == ';') {
      ++i;
      continue;
    }
    const bool comment = sql.substr(i).starts_with("--") || sql.substr(i).starts_with("/*");
    if (!comment) break;
    i += opaque_length(sql, i);
  }
  std::string word;
  while (i < sql.size() && std::isalpha(static_cast<unsigned char>(sql[i])))
    word += static_cast<char>(std::toupper(static_cast<unsigned char>(sql[i++])));
  return word;
}

void refuse_transaction_control(std::string_view sql) {
  static constexpr std::array<std::string_view, 12> banned = {"BEGIN",    "START",  "COMMIT",    "END",
                                                              "ROLLBACK", "ABORT",  "SAVEPOINT", "RELEASE",
                                                              "PRAGMA",   "ATTACH", "DETACH",    "VACUUM"};
  const std::string word = first_word(sql);
  if (std::ranges::find(banned, word) != banned.end() || (word == "PREPARE" && sql.find('$') == std::string_view::npos))
    throw Error("TRANSACTION_CONTROL", word + " is the store's own: use Database::write and Transaction::savepoint");
}

}  // namespace skald
