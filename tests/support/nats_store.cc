#include "support/nats_store.h"

namespace skald::test {
namespace {

const std::filesystem::path kStreams = std::filesystem::path("jetstream") / "$G" / "streams";

void replace(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::remove_all(to);
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
}

}  // namespace

void NatsStore::empty() const { std::filesystem::remove_all(folder_ / "store"); }

void NatsStore::save() const { replace(folder_ / "store", folder_ / "saved"); }

bool NatsStore::is_saved() const { return std::filesystem::exists(folder_ / "saved"); }

void NatsStore::restore() const { replace(folder_ / "saved", folder_ / "store"); }

void NatsStore::restore_messages(const std::string& stream) const {
  const auto messages = kStreams / stream / "msgs";
  replace(folder_ / "saved" / messages, folder_ / "store" / messages);
}

void NatsStore::restore_messages() const {
  for (const std::string& stream : saved_streams()) restore_messages(stream);
}

std::vector<std::string> NatsStore::saved_streams() const {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "saved" / kStreams))
    out.push_back(entry.path().filename().string());
  return out;
}

}  // namespace skald::test
