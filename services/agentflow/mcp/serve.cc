// Our own server: one request at a time, in the order of arrival.
#include <algorithm>
#include <istream>
#include <ostream>

#include "agentflow/mcp.h"
#include "agentflow/mcp/rpc.h"
#include "agentflow/mcp/tool_calls.h"
#include "skald/text.h"

namespace agentflow {
namespace {

constexpr std::size_t kMcpLineMax = 1 << 20;
constexpr std::string_view kNoId = "null";
constexpr std::string_view kBatching = "2025-03-26";  // the only version that has batches

enum class McpLine { whole, too_long, none };

// A line that is too long is read to its end, and not kept.
McpLine next_mcp_line(std::istream& in, std::string& line) {
  using Traits = std::istream::traits_type;
  line.clear();
  bool too_long = false;
  for (auto c = in.rdbuf()->sbumpc();; c = in.rdbuf()->sbumpc()) {
    const bool over = Traits::eq_int_type(c, Traits::eof());
    if (over && line.empty() && !too_long) return McpLine::none;
    if (over || Traits::to_char_type(c) == '\n') return too_long ? McpLine::too_long : McpLine::whole;
    if (line.size() == kMcpLineMax) {
      too_long = true;
      line = std::string();
    }
    if (!too_long) line += Traits::to_char_type(c);
  }
}

std::string text_or_empty(const boost::json::value* value) {
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

class McpService {
 public:
  McpService(const McpTools& tools, std::string_view version) : tools_(tools), version_(version) {}

  // The answer to a line; empty: there is none.
  std::string answer(std::string_view line) {
    boost::json::value value;
    try {
      value = skald::json::parse(line, kMcpValuesMax);
    } catch (const skald::Invalid& error) {
      return mcp_failure(kNoId, McpCode::parse_error, error.what());
    }
    return value.is_array() ? answer_batch(value.get_array()) : answer_one(value);
  }

 private:
  std::string answer_batch(const boost::json::array& batch) {
    if (protocol_ != kBatching)
      return mcp_failure(kNoId, McpCode::invalid_request,
                         "batches are part of protocol " + std::string(kBatching) + " only: send one message a line");
    if (batch.empty()) return mcp_failure(kNoId, McpCode::invalid_request, "the batch is empty: send a message");
    std::string out;
    for (const auto& one : batch) {
      const std::string answer = answer_one(one);
      if (!answer.empty()) out += (out.empty() ? "[" : ",") + answer;
    }
    return out.empty() ? out : out + "]";
  }

  std::string answer_one(const boost::json::value& value) {
    const auto message = read_mcp_message(value);
    if (!message)
      return mcp_failure(kNoId, McpCode::invalid_request,
                         "this is no message of JSON-RPC 2.0: send jsonrpc, id, method and params");
    // We ask nothing, so answers are nobody's; of notifications none changes what we do.
    if (message->method.empty() || message->id.empty()) return "";
    try {
      return answer_request(*message);
    } catch (const std::exception& error) {
      return mcp_failure(message->id, McpCode::internal_error, error.what());
    }
  }

  std::string answer_request(const McpMessage& request) {
    if (!request.params.is_object())
      return mcp_failure(request.id, McpCode::invalid_params, "params are an object here: name each");
    if (request.method == "ping") return mcp_result(request.id, "{}");
    if (request.method == "initialize") return initialize(request);
    const bool lists = request.method == "tools/list";
    if (!lists && request.method != "tools/call")
      return mcp_failure(
          request.id, McpCode::method_not_found,
          "there is no method " + skald::cut_text(request.method, 100) + " here: use tools/list and tools/call");
    if (protocol_.empty())
      return mcp_failure(request.id, McpCode::invalid_request,
                         "begin with initialize: nothing else is answered before it");
    return lists ? mcp_result(request.id, mcp_tool_list()) : call_mcp_tool(tools_, request);
  }

  std::string initialize(const McpMessage& request) {
    if (!protocol_.empty())
      return mcp_failure(request.id, McpCode::invalid_request, "initialize has been answered: send it once");
    const std::string wanted = text_or_empty(request.params.get_object().if_contains("protocolVersion"));
    if (wanted.empty())
      return mcp_failure(request.id, McpCode::invalid_params,
                         "initialize needs the protocolVersion that you speak, a text");
    protocol_ = knows_mcp_protocol(wanted) ? wanted : kMcpProtocolLatest;
    std::string version;
    skald::json::write_string(version, version_);
    return mcp_result(request.id, R"({"protocolVersion":")" + protocol_ +
                                      R"(","capabilities":{"tools":{}},"serverInfo":{"name":"skald","version":)" +
                                      version + "}}");
  }

  const McpTools& tools_;
  std::string_view version_;
  std::string protocol_;  // empty: before initialize
};

bool is_blank_line(std::string_view line) { return line.find_first_not_of(" \t\r") == line.npos; }

}  // namespace

void serve_mcp(std::istream& in, std::ostream& out, const McpTools& tools, std::string_view version) {
  McpService server(tools, version);
  std::string line;
  for (McpLine read = next_mcp_line(in, line); read != McpLine::none && out; read = next_mcp_line(in, line)) {
    if (read == McpLine::whole && is_blank_line(line)) continue;
    const std::string answer =
        read == McpLine::whole
            ? server.answer(line)
            : mcp_failure(kNoId, McpCode::invalid_request, "the message is longer than 1 MiB: send less at once");
    if (!answer.empty()) out << answer << '\n' << std::flush;
  }
}

}  // namespace agentflow
