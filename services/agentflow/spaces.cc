#include "agentflow/spaces.h"

#include <filesystem>
#include <fstream>

#include "skald/error.h"

namespace agentflow {
namespace {

namespace fs = std::filesystem;

class FolderSpaces final : public Spaces {
 public:
  void make(const std::string& folder) override {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      throw skald::Refused("NO_SPACE_FOLDER", "the folder of the workflow cannot be made (" + error.message() +
                                                  "): look at " + fs::path(folder).parent_path().string());
  }

  void remove(const std::string& folder) override {
    std::error_code error;
    fs::remove_all(folder, error);
    if (error)
      throw skald::Unavailable("NO_SPACE_FOLDER", "the folder " + folder + " cannot be removed: " + error.message());
  }

  void write_file(const std::string& path, const std::string& text) override {
    const std::string beside = path + ".new";
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    std::error_code error;
    fs::permissions(beside, fs::perms::owner_read | fs::perms::owner_write, error);
    file << text;
    file.close();
    if (file && !error) fs::rename(beside, path, error);
    if (!file || error)
      throw skald::Unavailable("NO_SPACE_FOLDER", "a file of the workflow's space cannot be written: look at " +
                                                      fs::path(path).parent_path().string());
  }
};

}  // namespace

std::shared_ptr<Spaces> folder_spaces() { return std::make_shared<FolderSpaces>(); }

}  // namespace agentflow
