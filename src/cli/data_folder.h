// What an installation keeps beside its databases: its secrets, and who serves it.
//
//   DATA/secret          signs tokens where auth.secret is not set
//   DATA/webhook-secret  signs announcements where donation.webhook_secret is not set; as the
//                        libraries of Standard Webhooks take it: "whsec_" + base64
//   DATA/server.json     the running server, while it runs
//   DATA/dead-letters    the fallback file
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "skald/json.h"

namespace skald::cli {

struct ServerRecord {
  std::string address;  // "127.0.0.1:8080"
  std::int64_t pid = 0;
};
BOOST_DESCRIBE_STRUCT(ServerRecord, (), (address, pid))

// All of it is its owner's alone: the folder is 0700, its files are 0600, also those that exist.
// Stateless but for the path; several processes may use one folder. Unavailable
// (DATA_FOLDER) where the disk says no.
class DataFolder {
 public:
  explicit DataFolder(std::filesystem::path path) : path_(std::move(path)) {}
  const std::filesystem::path& path() const { return path_; }

  void create() const;
  // Why no files can be written here, with what to do; empty where they can. Creates nothing.
  std::string problem() const;

  // The secret of that name; made at the first call, readable by its owner alone.
  // Corrupt (BAD_SECRET_FILE) where the file holds too little.
  std::string secret(const std::string& name) const;
  std::string webhook_secret() const;
  std::optional<std::string> existing_secret(const std::string& name) const;

  void write_server(const ServerRecord& record) const;
  void remove_server() const;  // if it is this process's
  // Nothing where no server runs, or the one that did has died.
  std::optional<ServerRecord> live_server() const;

 private:
  std::filesystem::path path_;
};

}  // namespace skald::cli
