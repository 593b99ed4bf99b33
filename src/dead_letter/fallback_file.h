// The second safety net: an append-only file that takes dead letters while their
// table cannot. One record per line,
//
//   SKALD1 <length> <crc32c, 8 hex digits> <record>\n
//
// A record counts once append() has returned: by then the file and its folder
// are synced. Several processes may append to one file; a lock on it keeps their
// lines apart, and keeps an import from taking a line that is being written.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace skald {

// What touches the disk, to be replaced by tests and the simulator. Each returns
// like its system call: negative with errno set on failure.
struct FileOps {
  std::function<ssize_t(int descriptor, std::string_view data)> write;
  std::function<int(int descriptor)> sync;
  std::function<int(const std::string& folder)> sync_folder;

  static FileOps real();
};

// An open descriptor, closed with it.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int descriptor) : descriptor_(descriptor) {}
  FileHandle(FileHandle&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  FileHandle& operator=(FileHandle&& other) noexcept;
  ~FileHandle() { reset(); }
  void reset();
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

// Thread safe.
class FallbackFile {
 public:
  // Lines longer than this are never written, and skipped when read.
  static constexpr std::size_t kLineMax = 4 << 20;

  // Touches nothing but the mode of files that are there: the file is opened, and created
  // where it is missing, by the first append().
  explicit FallbackFile(std::string path, FileOps ops = FileOps::real());

  // Returns when `record` is safe on disk. `record` is JSON on one line: Invalid
  // (FALLBACK_RECORD) where it contains a newline or is too long. Unavailable
  // (FALLBACK_FILE) where the disk does not take it: the record may or may not
  // be in the file then, so whoever imports must dedupe. After a short write or a
  // failed sync nobody knows what the disk holds, and the writer stays
  // Unavailable until reopen(). A tail that a crash has torn is closed by a
  // newline first.
  void append(std::string_view record);

  void reopen();
  const std::string& path() const { return path_; }

 private:
  void open_current();
  void write_line(std::string line);

  std::string path_;
  FileOps ops_;
  std::mutex mutex_;  // over everything below
  FileHandle file_;
  bool folder_synced_ = false;  // since this descriptor was opened
  bool poisoned_ = false;
};

struct FallbackCounts {
  std::uint64_t records = 0;
  std::uint64_t corrupt = 0;
};

// Reads a file record by record in bounded memory. What is not a whole record (a
// torn tail, a flipped byte, a line over kLineMax) is skipped and told to
// `corrupt` with its line number, counted from 1. A missing file has no records.
// May run beside a writer, whose half-written line then counts as torn. Throws
// Unavailable (FALLBACK_FILE) where the file cannot be read, and whatever
// `record` throws.
FallbackCounts read_fallback_file(const std::string& path, const std::function<void(std::string_view record)>& record,
                                  const std::function<void(std::uint64_t line, std::string_view why)>& corrupt);

// Brings the records back. The file is renamed to PATH.importing, so that writers
// begin a new one; what an import that a crash has cut short left there comes first.
//
//   if (auto import = FallbackImport::take(path)) {
//     do read_fallback_file(import->path(), insert_unless_there, report);
//     while (import->finish());  // only now is the file removed
//   }
class FallbackImport {
 public:
  // Nothing where there is nothing to import. Throws Busy (FALLBACK_IMPORT_RUNS)
  // while another import is under way, in whatever process; the lock lies in
  // PATH.importing.lock and ends with this object.
  static std::optional<FallbackImport> take(const std::string& path);

  // The file to read now.
  std::string path() const { return file_ + ".importing"; }

  // Removes it. Call when every record is safe elsewhere. True where it was a
  // crash's leftover and the file that writers had begun since is there to read.
  bool finish();

 private:
  FallbackImport(std::string file, FileHandle lock) : file_(std::move(file)), lock_(std::move(lock)) {}
  bool take_current();

  std::string file_;
  FileHandle lock_;
  bool leftover_ = false;
};

}  // namespace skald
