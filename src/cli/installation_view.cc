#include "cli/installation_view.h"

#include <algorithm>
#include <filesystem>

#include "cli/data_folder.h"
#include "dead_letter/fallback_file.h"

namespace skald::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSecretBytesGood = 32;

FallbackView count_records(const fs::path& path) {
  FallbackView out{path.filename().string()};
  const FallbackCounts counts =
      read_fallback_file(path.string(), [](std::string_view) {}, [](std::uint64_t, std::string_view) {});
  out.records = static_cast<std::int64_t>(counts.records);
  out.damaged = static_cast<std::int64_t>(counts.corrupt);
  return out;
}

// The fallback files of all services, those that an import has set aside included.
std::vector<FallbackView> fallback_files(const fs::path& folder) {
  std::vector<FallbackView> out;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("dead-letters") || name.ends_with(".lock") || !entry.is_regular_file(none)) continue;
    if (FallbackView view = count_records(entry.path()); view.records + view.damaged > 0)
      out.push_back(std::move(view));
  }
  std::ranges::sort(out, {}, &FallbackView::file);
  return out;
}

}  // namespace

std::string InstallationView::value(std::string_view path) const {
  const auto found = std::ranges::find(settings, path, &SettingView::path);
  return found == settings.end() ? "" : found->value;
}

bool InstallationView::runs(std::string_view service) const {
  const std::string names = "," + value("services") + ",";
  const auto among = [&](std::string_view name) { return names.find("," + std::string(name) + ",") != names.npos; };
  return among("all") || among(service);
}

InstallationView view_installation(const Settings& settings, std::vector<std::string> warnings) {
  InstallationView out;
  const DataFolder folder(settings.text("data"));
  std::error_code none;
  out.data = fs::absolute(folder.path(), none).lexically_normal().string();
  out.data_problem = folder.problem();
  out.warnings = std::move(warnings);
  const std::string& secret = settings.text("auth.secret");
  if (!secret.empty() && secret.size() < kSecretBytesGood)
    out.warnings.push_back("auth.secret is shorter than 32 bytes; make it longer");
  for (const Setting& setting : known_settings()) {
    std::string value = settings.shown(setting.path);
    if (setting.kind == Kind::boolean) value = settings.enabled(setting.path) ? "true" : "false";
    out.settings.push_back({std::string(setting.path), value, std::string(settings.origin(setting.path))});
  }
  try {
    out.fallback = fallback_files(folder.path());
  } catch (const Error& error) {
    out.warnings.emplace_back(error.what());
  }
  return out;
}

}  // namespace skald::cli
