#include "dead_letter/fallback_file.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include "dead_letter/crc32c.h"
#include "dead_letter/fallback_fixture.h"
#include "dead_letter/fallback_line.h"
#include "skald/error.h"
#include "skald/json.h"

namespace skald::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A disk that forgets at a crash what was not synced.
class ForgetfulDisk {
 public:
  explicit ForgetfulDisk(std::string path) : path_(std::move(path)) {}

  FileOps ops() {
    FileOps ops = FileOps::real();
    ops.sync = [this](int descriptor) {
      struct stat info;
      fstat(descriptor, &info);
      synced_ = info.st_size;
      return 0;
    };
    ops.sync_folder = [this](const std::string&) {
      entered_ = true;
      return 0;
    };
    return ops;
  }
  void crash() {
    if (entered_) std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(synced_));
    else std::filesystem::remove(path_);
  }

 private:
  std::string path_;
  off_t synced_ = 0;
  bool entered_ = false;
};

TEST(Crc32c, MatchesThePublishedCheckValue) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(FallbackFile, WritesOneChecksummedLinePerRecord) {
  const Folder folder;
  FallbackFile file(folder.file());
  file.append(R"({"id":1})");
  file.append("123456789");
  EXPECT_EQ(contents(folder.file()),
            "SKALD1 8 " + contents(folder.file()).substr(9, 8) + " {\"id\":1}\nSKALD1 9 e3069283 123456789\n");
  EXPECT_THAT(read(folder.file()).records, ElementsAre(R"({"id":1})", "123456789"));
  struct stat info;
  ASSERT_EQ(stat(folder.file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(FallbackFile, TouchesNothingBeforeTheFirstAppend) {
  const Folder folder;
  FallbackFile file(folder.file());
  EXPECT_FALSE(std::filesystem::exists(folder.file()));
  EXPECT_THAT(read(folder.file()).records, IsEmpty());
}

RC_GTEST_PROP(FallbackFileProperty, RecordsComeBackAsTheyWere, (const std::vector<std::string>& texts)) {
  const Folder folder;
  ForgetfulDisk disk(folder.file());  // real syncs are slow
  FallbackFile file(folder.file(), disk.ops());
  std::vector<std::string> records;
  for (const std::string& text : texts) {
    std::string record = "{\"text\":";
    json::write_string(record, text);
    records.push_back(record + "}");
    file.append(records.back());
  }
  const Reading reading = read(folder.file());
  RC_ASSERT(reading.records == records);
  RC_ASSERT(reading.corrupt.empty());
}

TEST(FallbackFile, RefusesARecordOfSeveralLinesOrBeyondTheLimit) {
  const Folder folder;
  FallbackFile file(folder.file());
  EXPECT_THROW(file.append("{\n}"), Invalid);
  EXPECT_THROW(file.append(std::string(FallbackFile::kLineMax, 'x')), Invalid);
  file.append(std::string(FallbackFile::kLineMax - 64, 'x'));
  EXPECT_EQ(read(folder.file()).records.size(), 1u);
}

TEST(FallbackFile, ALastRecordTornAtAnyByteCostsNothingElse) {
  const Folder folder;
  {
    FallbackFile file(folder.file());
    file.append(R"({"id":"first"})");
    file.append(R"({"id":"second"})");
  }
  const std::string whole = contents(folder.file());
  const std::size_t second = whole.find('\n') + 1;
  for (std::size_t size = second; size < whole.size(); ++size) {
    overwrite(folder.file(), whole.substr(0, size));
    Reading reading = read(folder.file());
    const bool only_newline_lost = size + 1 == whole.size();
    EXPECT_EQ(reading.records.size(), only_newline_lost ? 2u : 1u) << size;
    EXPECT_EQ(reading.corrupt.size(), size == second || only_newline_lost ? 0u : 1u) << size;

    FallbackFile file(folder.file());
    file.append(R"({"id":"third"})");
    file.append(R"({"id":"fourth"})");
    reading = read(folder.file());
    ASSERT_GE(reading.records.size(), 3u) << size;
    EXPECT_EQ(reading.records[0], R"({"id":"first"})");
    EXPECT_EQ(reading.records[reading.records.size() - 2], R"({"id":"third"})");
    EXPECT_EQ(reading.records.back(), R"({"id":"fourth"})");
  }
}

TEST(FallbackFile, AFlippedBitIsNeverReadAsARecordAndCostsOnlyItsLine) {
  const Folder folder;
  const std::vector<std::string> records = {R"({"id":"first"})", R"({"id":"second"})", R"({"id":"third"})"};
  {
    FallbackFile file(folder.file());
    for (const std::string& record : records) file.append(record);
  }
  const std::string whole = contents(folder.file());
  const std::size_t begin = whole.find('\n') + 1, end = whole.find('\n', begin);
  for (std::size_t at = begin; at < end; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = whole;
      bad[at] = static_cast<char>(bad[at] ^ 1 << bit);
      overwrite(folder.file(), bad);
      const Reading reading = read(folder.file());
      ASSERT_GE(reading.records.size(), 2u);
      EXPECT_EQ(reading.records.front(), records[0]);
      EXPECT_EQ(reading.records.back(), records[2]);
      // A hex digit in upper case is the same checksum: the record is whole.
      if (reading.records.size() == 3) EXPECT_EQ(reading.records[1], records[1]);
      else EXPECT_EQ(reading.corrupt.at(0).first, 2u);
    }
  }
}

TEST(FallbackFile, GarbageIsReportedByLineAndSkipped) {
  const Folder folder;
  const std::string good = format_fallback_line("{}");
  overwrite(folder.file(), "hello\n" + good +
                               "SKALD1\nSKALD1 x y z\nSKALD1 99999999999999999999 0 x\nSKALD1 9 00000000 {}\n" +
                               "SKALD1 1 00000000 {}\nSKALD1 2 00000000 {}\n" + std::string(100, '\0') + "\n\n" + good);
  const Reading reading = read(folder.file());
  EXPECT_THAT(reading.records, ElementsAre("{}", "{}"));
  std::vector<std::uint64_t> lines;
  for (const auto& [line, why] : reading.corrupt) lines.push_back(line);
  EXPECT_THAT(lines, ElementsAre(1u, 3u, 4u, 5u, 6u, 7u, 8u, 9u));
}

TEST(FallbackFile, AHeaderThatNobodyWritesIsNone) {
  EXPECT_TRUE(parse_fallback_line("SKALD1 0 00000000 ").record);
  for (const char* line : {"SKALD1 00 0 ", "SKALD1 00 00000000 ", "SKALD1 0 0 ", "SKALD1 0 000000000 "})
    EXPECT_FALSE(parse_fallback_line(line).record) << line;
}

TEST(FallbackFile, ALineWithoutEndIsSkippedInBoundedMemory) {
  const Folder folder;
  const std::string good = format_fallback_line("{}");
  {
    std::ofstream out(folder.file(), std::ios::binary);
    const std::string block(1 << 20, 'x');
    for (int i = 0; i < 200; ++i) out << block;
    out << "\n" << good;
  }
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  const Reading reading = read(folder.file());
  getrusage(RUSAGE_SELF, &after);
  EXPECT_THAT(reading.records, ElementsAre("{}"));
  EXPECT_THAT(reading.corrupt, ElementsAre(std::pair<std::uint64_t, std::string>(1, "too long")));
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 32 * 1024);
}

TEST(FallbackFile, WhatAppendHasReturnedForSurvivesACrash) {
  const Folder folder;
  ForgetfulDisk disk(folder.file());
  FallbackFile file(folder.file(), disk.ops());
  file.append(R"({"id":1})");
  file.append(R"({"id":2})");
  disk.crash();
  EXPECT_THAT(read(folder.file()).records, ElementsAre(R"({"id":1})", R"({"id":2})"));
}

TEST(FallbackFile, AFailedSyncStopsTheWriterUntilItIsReopened) {
  const Folder folder;
  FileOps ops = FileOps::real();
  bool broken = false;
  int writes = 0;
  ops.write = [&](int descriptor, std::string_view data) {
    ++writes;
    return ::write(descriptor, data.data(), data.size());
  };
  ops.sync = [&](int) { return broken ? (errno = EIO, -1) : 0; };
  FallbackFile file(folder.file(), ops);
  file.append("1");
  broken = true;
  EXPECT_THROW(file.append("2"), Unavailable);
  broken = false;
  EXPECT_THROW(file.append("3"), Unavailable);
  EXPECT_EQ(writes, 2);
  file.reopen();
  file.append("4");
  EXPECT_THAT(read(folder.file()).records, ElementsAre("1", "2", "4"));
}

TEST(FallbackFile, AFailedSyncOfTheFolderStopsTheWriterToo) {
  const Folder folder;
  FileOps ops = FileOps::real();
  ops.sync_folder = [](const std::string&) { return errno = EIO, -1; };
  FallbackFile file(folder.file(), ops);
  EXPECT_THROW(file.append("1"), Unavailable);
  EXPECT_THROW(file.append("2"), Unavailable);
}

TEST(FallbackFile, AFullDiskStopsTheWriterAndItsHalfLineIsPassedOver) {
  const Folder folder;
  FileOps ops = FileOps::real();
  std::size_t room = 30;
  ops.write = [&](int descriptor, std::string_view data) -> ssize_t {
    if (room == 0) return errno = ENOSPC, -1;
    const ssize_t written = ::write(descriptor, data.data(), std::min(data.size(), room));
    room -= static_cast<std::size_t>(written);
    return written;
  };
  FallbackFile file(folder.file(), ops);
  file.append("1");
  EXPECT_THROW(file.append("2"), Unavailable);
  EXPECT_THROW(file.append("3"), Unavailable);
  file.reopen();
  EXPECT_THROW(file.append("4"), Unavailable);
  room = 1000;
  file.reopen();
  file.append("5");
  const Reading reading = read(folder.file());
  EXPECT_THAT(reading.records, ElementsAre("1", "5"));
  EXPECT_EQ(reading.corrupt.size(), 1u);
}

TEST(FallbackFile, AMissingFolderIsUnavailableAndWorksOnceItIsThere) {
  const Folder folder;
  FallbackFile file(folder.file("sub/file"));
  EXPECT_THROW(file.append("1"), Unavailable);
  std::filesystem::create_directory(folder.file("sub"));
  file.append("1");
  EXPECT_THAT(read(folder.file("sub/file")).records, ElementsAre("1"));
}

TEST(FallbackFile, AReaderBesideTheWriterSeesWholeRecordsOnly) {
  const Folder folder;
  FileOps ops = FileOps::real();
  std::vector<std::string> appended;
  std::size_t looks = 0;
  // The writer is stopped after every byte, and the reader looks.
  ops.write = [&](int descriptor, std::string_view data) -> ssize_t {
    for (char c : data) {
      if (::write(descriptor, &c, 1) != 1) return -1;
      auto records = read(folder.file()).records;
      if (records.size() > appended.size()) records.pop_back();  // whole, but for its newline
      EXPECT_EQ(records, appended);
      ++looks;
    }
    return static_cast<ssize_t>(data.size());
  };
  FallbackFile file(folder.file(), ops);
  for (int i = 0; i < 5; ++i) {
    const std::string record = "{\"id\":" + std::to_string(i) + "}";
    file.append(record);
    appended.push_back(record);
  }
  EXPECT_GT(looks, 100u);
}

TEST(FallbackFile, TwoWritersShareAFileEvenWhenOneDiesInTheMiddleOfALine) {
  const Folder folder;
  FallbackFile survivor(folder.file());
  survivor.append("1");
  FileOps dying = FileOps::real();
  dying.write = [](int descriptor, std::string_view data) { return ::write(descriptor, data.data(), data.size() / 2); };
  EXPECT_THROW(FallbackFile(folder.file(), dying).append("lost"), Unavailable);
  survivor.append("2");
  EXPECT_THAT(read(folder.file()).records, ElementsAre("1", "2"));
}

}  // namespace
}  // namespace skald::test
