// skald story
#include <ostream>

#include "cli/command.h"
#include "cli/json_view.h"
#include "cli/output.h"
#include "http/target.h"

namespace skald::cli {

int run_story(const Arguments& arguments, const Api& api, std::ostream& out) {
  const std::string body = ask(api, "GET", "/api/story/" + http::encode_segment(arguments.operands[0]));
  if (arguments.json()) {
    print_json(out, body);
    return kDone;
  }
  const JsonView story(body);
  std::vector<std::vector<std::string>> rows;
  for (const JsonView& line : story.items("lines"))
    rows.push_back({line["at"], line["service"], line["source"], line["what"], line["detail"]});
  print_table(out, {"AT", "SERVICE", "SOURCE", "WHAT", "DETAIL"}, rows, Long::wrap);
  return kDone;
}

}  // namespace skald::cli
