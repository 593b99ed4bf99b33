#include "process/run_spec_text.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "process/small_file.h"

namespace skald::process {
namespace {

// Each field behind its length: "5:hello".
void put(std::string& to, std::string_view field) {
  to += std::to_string(field.size());
  to += ':';
  to += field;
}
void put(std::string& to, std::int64_t number) { put(to, std::to_string(number)); }

[[noreturn]] void broken() {
  throw Malformed("BAD_RUN_SPEC",
                  "what a supervisor is to run did not arrive whole: it is started by Runs::start() and not by hand");
}

class Fields {
 public:
  explicit Fields(std::string_view text) : left_(text) {}

  std::string text() {
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), size);
    const auto digits = static_cast<std::size_t>(end - left_.data());
    if (error != std::errc() || digits == left_.size() || *end != ':' || left_.size() - digits - 1 < size) broken();
    std::string out(left_.substr(digits + 1, size));
    left_.remove_prefix(digits + 1 + size);
    return out;
  }
  std::int64_t number() {
    const std::string digits = text();
    std::int64_t out = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), out).ec != std::errc()) broken();
    return out;
  }
  void done() const {
    if (!left_.empty()) broken();
  }

 private:
  std::string_view left_;
};

}  // namespace

std::string spec_text(const RunSpec& spec) {
  std::string out;
  put(out, spec.id);
  put(out, spec.folder);
  put(out, spec.input);
  put(out, spec.timeout.count());
  put(out, spec.grace.count());
  put(out, spec.output_max);
  put(out, static_cast<std::int64_t>(spec.argv.size()));
  for (const std::string& word : spec.argv) put(out, word);
  put(out, static_cast<std::int64_t>(spec.variables.size()));
  for (const auto& [name, value] : spec.variables) {
    put(out, name);
    put(out, value);
  }
  put(out, static_cast<std::int64_t>(spec.secrets.size()));
  for (const std::string& secret : spec.secrets) put(out, secret);
  return out;
}

RunSpec spec_of(std::string_view text) {
  Fields fields(text);
  RunSpec spec;
  spec.id = fields.text();
  spec.folder = fields.text();
  spec.input = fields.text();
  spec.timeout = Duration(fields.number());
  spec.grace = Duration(fields.number());
  spec.output_max = fields.number();
  for (std::int64_t left = fields.number(); left > 0; --left) spec.argv.push_back(fields.text());
  for (std::int64_t left = fields.number(); left > 0; --left) {
    std::string name = fields.text();
    spec.variables[std::move(name)] = fields.text();
  }
  for (std::int64_t left = fields.number(); left > 0; --left) spec.secrets.push_back(fields.text());
  fields.done();
  return spec;
}

Descriptor memory_file(std::string_view text) {
  Descriptor file(memfd_create("run", MFD_CLOEXEC));
  if (!file || write_all(file.get(), text) != text.size() || lseek(file.get(), 0, SEEK_SET) != 0)
    throw Unavailable("NO_PROCESS", "there is no memory to start a run with: " + reason_of(errno));
  return above_given(std::move(file));
}

}  // namespace skald::process
