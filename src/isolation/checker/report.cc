#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "skald/checker.h"

namespace skald::checker {
namespace {

// Ids and keys come from strangers and must not steer a terminal.
std::string harmless(std::string_view text) {
  std::string out = cut_text(text, text.size());
  std::replace_if(out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return out;
}

std::string words(Anomaly anomaly) {
  std::string name(enum_name(anomaly));
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::map<std::string, std::int64_t> count(std::span<const Finding> findings) {
  std::map<std::string, std::int64_t> counts;
  for (const Finding& finding : findings) ++counts[std::string(enum_name(finding.anomaly))];
  return counts;
}

}  // namespace

std::string findings_text(std::span<const Finding> findings) {
  if (findings.empty()) return "no anomaly found\n";
  std::string out;
  for (const Finding& finding : findings) {
    out += words(finding.anomaly);
    if (!finding.resource.empty()) out += " on " + harmless(finding.resource + "/" + finding.key);
    out += "\n  " + harmless(finding.explanation) + "\n";
    for (const Part& part : finding.parts)
      out += harmless(fmt::format("  at {:<8} {} of saga '{}' ({}){}", part.at, enum_name(part.kind), part.saga_id,
                                  part.saga_type, part.step.empty() ? "" : " in step '" + part.step + "'")) +
             "\n";
    out += "  covered by: " + harmless(finding.countermeasure) + "\n\n";
  }
  out += fmt::format("{} anomal{}\n", findings.size(), findings.size() == 1 ? "y" : "ies");
  return out;
}

std::string findings_json(std::span<const Finding> findings) {
  std::string out = "{\"findings\":";
  json::write(out, std::vector<Finding>(findings.begin(), findings.end()));
  out += ",\"counts\":";
  json::write(out, count(findings));
  return out + "}";
}

}  // namespace skald::checker
