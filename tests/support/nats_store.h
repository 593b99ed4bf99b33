// The files of a NATS server that is stopped: kept aside and put back, as a backup or a
// lost disk would.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace skald::test {

class NatsStore {
 public:
  // `folder` has the server's files in store/; what is kept aside goes to saved/.
  explicit NatsStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void empty() const;  // loses everything
  void save() const;
  bool is_saved() const;
  void restore() const;
  // Puts back the messages of streams that were saved: their consumers stay where they are now.
  void restore_messages(const std::string& stream) const;
  void restore_messages() const;  // of all

 private:
  std::vector<std::string> saved_streams() const;

  std::filesystem::path folder_;
};

}  // namespace skald::test
