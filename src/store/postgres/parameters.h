// Parameters as PostgreSQL's text format wants them. The server infers the types,
// so that one text serves bigint, text and boolean columns alike.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/row.h"

namespace skald::postgres {

// The values of many statements in one buffer that is used again and again: no
// allocation per value once it has grown. Not thread safe.
class Parameters {
 public:
  // Appends the values of one statement: the position of the first. Throws Invalid
  // (BAD_TEXT) where a text holds a zero byte, which PostgreSQL cannot store.
  std::size_t append(std::span<const Param> params);
  // Forgets the values from position `count` on.
  void truncate(std::size_t count);
  std::size_t size() const { return offsets_.size(); }

  // What libpq takes, for `count` values from position `first`. Valid until the
  // next call of anything here.
  const char* const* pointers(std::size_t first, std::size_t count);

 private:
  static constexpr std::size_t kNull = static_cast<std::size_t>(-1);

  void append(const Param& param);

  std::string bytes_;                 // each value with its zero behind it
  std::vector<std::size_t> offsets_;  // into bytes_, or kNull
  std::vector<const char*> pointers_;
};

// {1,2} and {"a","say \"hi\""}; appended to `out`.
void write_array(std::string& out, std::span<const std::int64_t> values);
void write_array(std::string& out, std::span<const std::string> values);

}  // namespace skald::postgres
