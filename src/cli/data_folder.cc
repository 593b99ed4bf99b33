#include "cli/data_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/hash.h"
#include "cli/settings.h"
#include "skald/error.h"

namespace skald::cli {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

// Takes from others what an older program, or a careless umask, has given them. What is not
// ours, or is shared by its nature as /tmp is, stays as it is.
void keep_private(const fs::path& path, mode_t mode) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || info.st_uid != geteuid()) return;
  if ((info.st_mode & kOthers) != 0 && (info.st_mode & S_ISVTX) == 0) chmod(path.c_str(), mode);
}

[[noreturn]] void fail(const std::string& what, const fs::path& path) {
  throw Unavailable("DATA_FOLDER", "cannot " + what + " " + path.string() + ": " + std::strerror(errno) +
                                       "; check its owner and permissions, or choose another folder with --data");
}

std::optional<std::string> read_small_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    fail("read", path);
  }
  std::string text(4096, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// Appears whole or not at all, by a link that fails where the name is taken.
// False where it was.
bool create_file(const fs::path& path, std::string_view text, bool replace) {
  const fs::path draft = path.string() + "." + std::to_string(getpid()) + ".new";
  const int descriptor = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) fail("create", draft);
  fchmod(descriptor, kOwnerOnly);  // whatever the umask
  const bool written =
      write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(descriptor) == 0;
  close(descriptor);
  if (!written) {
    unlink(draft.c_str());
    fail("write", draft);
  }
  const int result = replace ? rename(draft.c_str(), path.c_str()) : link(draft.c_str(), path.c_str());
  const int error = errno;
  unlink(draft.c_str());
  errno = error;
  if (result != 0 && error != EEXIST) fail("create", path);
  return result == 0;
}

// From the operating system and not from Env: a secret that a seed decides is none.
std::string random_bytes() {
  std::string bytes(32, '\0');
  if (getentropy(bytes.data(), bytes.size()) != 0) fail("draw random bytes for", "a secret");
  return bytes;
}

std::string secret_in(const DataFolder& folder, const std::string& name, const std::function<std::string()>& make) {
  if (auto found = folder.existing_secret(name)) return *found;
  folder.create();
  create_file(folder.path() / name, make() + "\n", false);
  return folder.existing_secret(name).value();
}

}  // namespace

void DataFolder::create() const {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) {
    errno = error.value();
    fail("create", path_);
  }
  keep_private(path_, S_IRWXU);
}

std::string DataFolder::problem() const {
  struct stat about{};
  const std::string name = path_.string();
  if (stat(path_.c_str(), &about) != 0)
    return errno == ENOENT ? "there is no folder " + name + "; `skald serve` makes it, or name another with --data"
                           : "cannot look at " + name + ": " + std::strerror(errno) + "; choose another with --data";
  if (!S_ISDIR(about.st_mode)) return name + " is no folder; choose another with --data";
  if (access(path_.c_str(), R_OK | W_OK | X_OK) != 0)
    return "cannot write to " + name + ": " + std::strerror(errno) +
           "; check its owner and permissions, or choose another folder with --data";
  return "";
}

std::optional<std::string> DataFolder::existing_secret(const std::string& name) const {
  keep_private(path_ / name, kOwnerOnly);
  auto text = read_small_file(path_ / name);
  if (!text) return std::nullopt;
  text->erase(text->find_last_not_of(" \r\n") + 1);
  if (text->size() < kSecretBytesMin)
    throw Corrupt("BAD_SECRET_FILE", (path_ / name).string() + " is shorter than " + std::to_string(kSecretBytesMin) +
                                         " bytes; remove it, and a new secret is made");
  return text;
}

std::string DataFolder::secret(const std::string& name) const {
  return secret_in(*this, name, [] { return base64url(random_bytes()); });
}

std::string DataFolder::webhook_secret() const {
  return secret_in(*this, "webhook-secret", [] { return "whsec_" + base64(random_bytes()); });
}

void DataFolder::write_server(const ServerRecord& record) const {
  create();
  create_file(path_ / "server.json", to_json(record) + "\n", true);
}

void DataFolder::remove_server() const {
  if (const auto record = live_server(); record && record->pid == getpid()) unlink((path_ / "server.json").c_str());
}

std::optional<ServerRecord> DataFolder::live_server() const {
  const auto text = read_small_file(path_ / "server.json");
  if (!text) return std::nullopt;
  try {
    const auto record = from_json<ServerRecord>(*text);
    if (record.pid <= 0 || (kill(static_cast<pid_t>(record.pid), 0) != 0 && errno == ESRCH)) return std::nullopt;
    return record;
  } catch (const Invalid&) {
    throw Corrupt("BAD_SERVER_FILE", (path_ / "server.json").string() + " cannot be read; remove it if no server runs");
  }
}

}  // namespace skald::cli
