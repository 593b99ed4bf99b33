// The rows that a transaction reads and writes, told to whoever records a history of
// sagas (checker.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace skald {

struct RowAccess {
  enum class Kind {
    read,
    write,  // of a value that somebody decided on
    add     // relative and guarded: its order among others does not matter
  };
  Kind kind = Kind::read;
  std::string_view resource, key;
  std::optional<std::int64_t> version_read;     // of a write: the version that it checked
  std::optional<std::int64_t> version_written;
};

class RowWatch {
 public:
  virtual ~RowWatch() = default;
  virtual void note(const RowAccess& access) = 0;
};

}  // namespace skald
