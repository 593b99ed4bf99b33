#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "dead_letter/fallback_file.h"
#include "dead_letter/fallback_fixture.h"
#include "skald/error.h"

namespace skald::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FallbackImport, TakesTheFileAwayAndWritersBeginANewOne) {
  const Folder folder;
  FallbackFile file(folder.file());
  file.append("1");
  auto import = FallbackImport::take(folder.file());
  ASSERT_TRUE(import);
  file.append("2");  // through a descriptor that was open before
  EXPECT_THAT(read(import->path()).records, ElementsAre("1"));
  import->finish();
  EXPECT_FALSE(std::filesystem::exists(import->path()));
  EXPECT_THAT(read(folder.file()).records, ElementsAre("2"));
}

TEST(FallbackImport, NothingIsLostBetweenWritersAndImportsThatRace) {
  const Folder folder;
  FileOps ops = FileOps::real();
  ops.sync = [](int) { return 0; };
  ops.sync_folder = [](const std::string&) { return 0; };
  FallbackFile file(folder.file(), ops);
  constexpr std::size_t each = 3000;
  const auto write = [&](const std::string& name) {
    for (std::size_t i = 0; i < each; ++i) file.append(name + std::to_string(i));
  };
  std::atomic<int> writing = 2;
  std::thread first([&] { write("a"), --writing; }), second([&] { write("b"), --writing; });
  std::set<std::string> imported;
  for (bool last = false; !last;) {
    last = writing == 0;
    if (auto import = FallbackImport::take(folder.file())) {
      const Reading reading = read(import->path());
      EXPECT_THAT(reading.corrupt, IsEmpty());
      imported.insert(reading.records.begin(), reading.records.end());
      import->finish();
    }
  }
  first.join();
  second.join();
  EXPECT_EQ(imported.size(), 2 * each);
}

TEST(FallbackImport, NothingToImportIsNoImport) {
  const Folder folder;
  EXPECT_FALSE(FallbackImport::take(folder.file()));
  EXPECT_FALSE(FallbackImport::take(folder.file("no/such/folder")));
}

TEST(FallbackImport, AnImportThatWasCutShortComesFirstThenTheFileBegunSince) {
  const Folder folder;
  FallbackFile file(folder.file());
  file.append("1");
  { ASSERT_TRUE(FallbackImport::take(folder.file())); }
  file.append("2");
  auto import = FallbackImport::take(folder.file());
  ASSERT_TRUE(import);
  EXPECT_THAT(read(import->path()).records, ElementsAre("1"));
  file.append("3");  // an import puts back what it cannot decide
  ASSERT_TRUE(import->finish());
  EXPECT_THAT(read(import->path()).records, ElementsAre("2", "3"));
  file.append("4");
  EXPECT_FALSE(import->finish()) << "or an import that puts back would never end";
  EXPECT_THAT(read(folder.file()).records, ElementsAre("4"));
}

TEST(FallbackImport, AnImportThatWasCutShortMayBeAllThereIs) {
  const Folder folder;
  FallbackFile(folder.file()).append("1");
  { ASSERT_TRUE(FallbackImport::take(folder.file())); }
  auto import = FallbackImport::take(folder.file());
  ASSERT_TRUE(import);
  EXPECT_FALSE(import->finish());
  EXPECT_FALSE(std::filesystem::exists(import->path()));
}

TEST(FallbackImport, OneAtATime) {
  const Folder folder;
  FallbackFile(folder.file()).append("1");
  const auto import = FallbackImport::take(folder.file());
  ASSERT_TRUE(import);
  EXPECT_THROW(FallbackImport::take(folder.file()), Busy);
}

}  // namespace
}  // namespace skald::test
