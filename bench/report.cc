#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "support/built.h"

namespace bench {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string markdown_table(const std::vector<std::string>& header, const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& cell : header) widths.push_back(cell.size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  const auto line = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i)
      out += (i == 0 ? "| " : " | ") + fmt::format("{:<{}}", row[i], widths[i]);
    out += " |\n";
  };
  line(header);
  for (std::size_t width : widths) out += "|" + std::string(width + 2, '-');
  out += "|\n";
  for (const auto& row : rows) line(row);
  return out;
}

std::string xml(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return out;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string number(double value, int decimals) {
  return std::isnan(value) ? "-" : fmt::format("{:.{}f}", value, decimals);
}

void Report::setting(const std::string& what, const std::string& value) { settings_.emplace_back(what, value); }

void Report::table(const std::string& title, const std::vector<std::string>& header, const Rows& rows) {
  const std::string text = markdown_table(header, rows);
  std::printf("\n%s\n%s", title.c_str(), text.c_str());
  std::fflush(stdout);
  tables_ += "\n### " + title + "\n\n" + text;
}

void Report::check(const std::string& what, Target target, double measured, const std::string& unit) {
  const bool at_least = target.kind == Target::Kind::at_least;
  const bool kept = at_least ? measured >= target.value : measured <= target.value;
  const auto shown = [&](double value) { return number(value, 2) + (unit == "x" ? "x" : " " + unit); };
  checks_.push_back({what, (at_least ? "at least " : "at most ") + shown(target.value), shown(measured), kept});
}

void Report::chart(const std::string& title, const std::string& unit, std::vector<Bar> bars) {
  charts_.push_back({title, unit, std::move(bars)});
}

std::string Report::markdown() const {
  std::string out = "\n`" + options_.command + "`\n\n";
  for (const auto& [what, value] : settings_) out += "- " + what + ": " + value + "\n";
  Rows rows;
  for (const Check& check : checks_)
    rows.push_back({check.what, check.target, check.measured, check.kept ? "yes" : "**no**"});
  out += "\n" + markdown_table({"promise", "target", "measured", "kept"}, rows);
  if (!charts_.empty()) out += "\n![" + options_.name + "](results-" + options_.name + ".svg)\n";
  return out + tables_ + "\n";
}

std::string Report::svg() const {
  constexpr int kWidth = 760, kLabel = 220, kBar = 400, kLine = 22;
  std::string body;
  int y = 10;
  for (const Chart& chart : charts_) {
    double longest = 0;
    for (const Bar& bar : chart.bars) longest = std::max(longest, std::isnan(bar.value) ? 0 : bar.value);
    y += 20;
    body += fmt::format("<text x=\"10\" y=\"{}\" font-weight=\"bold\">{} ({})</text>\n", y, xml(chart.title),
                        xml(chart.unit));
    y += 10;
    for (const Bar& bar : chart.bars) {
      const double width = longest > 0 && !std::isnan(bar.value) ? bar.value / longest * kBar : 0;
      const bool ours = bar.name.starts_with("skald");
      body += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kLabel, y + 14, xml(bar.name));
      body += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"16\" rx=\"2\" fill=\"{}\"/>\n", kLabel + 8,
                          y + 2, width, ours ? "#1d6fb8" : "#a9b4bf");
      body += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>\n", kLabel + 14 + width, y + 14,
                          number(bar.value, bar.value < 100 ? 2 : 0));
      y += kLine;
    }
    y += 8;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
      kWidth, y + 10, body);
}

// Each benchmark owns the part of the file between its two marks.
void Report::write_results() const {
  const std::string dir = skald::built::kSources + std::string("/bench"), path = dir + "/RESULTS.md";
  const std::string begin = "<!-- " + options_.name + " -->\n", end = "<!-- end of " + options_.name + " -->\n";
  std::string text = read_text(path);
  if (text.empty()) {
    text =
        "# Measured\n\nWritten by `./dev bench NAME --write-results`. "
        "Only ratios within one run mean anything: machines differ.\n";
  }
  const auto from = text.find(begin), to = text.find(end);
  const std::string part = begin + "\n## " + options_.name + "\n" + markdown() + end;
  if (from == std::string::npos || to == std::string::npos) text += "\n" + part;
  else text.replace(from, to + end.size() - from, part);
  std::ofstream(path) << text;
  std::ofstream(dir + "/results-" + options_.name + ".svg") << svg();
}

bool Report::finish() {
  Rows rows;
  bool kept = true;
  for (const Check& check : checks_) {
    rows.push_back({check.what, check.target, check.measured, check.kept ? "ok" : "MISSED"});
    kept = kept && check.kept;
  }
  std::printf("\n%s", markdown_table({"promise", "target", "measured", ""}, rows).c_str());
  if (options_.write_results) write_results();
  return kept;
}

}  // namespace bench
