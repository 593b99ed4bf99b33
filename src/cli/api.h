// The API as commands use it: one way to ask, wherever the answer comes from.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "cli/event_reader.h"
#include "skald/http.h"

namespace skald::cli {

// Answers a request as the server does; a failure to reach it is Unavailable.
using Api = std::function<Response(const Request&)>;

// A server over HTTP; an empty token sends none. `address` is "127.0.0.1:8080"
// or an http(s) URL.
struct Remote {
  std::string address, token;
};
// From any thread; connections are kept for the next request.
Api remote_api(const Remote& server);

// Hands over what a stream of the server says as it comes, until `hear` returns false. Returns
// as well where the stream ends, is refused or breaks, or `longest` is over: look what is true,
// and come again.
void follow_stream(const Remote& server, const std::string& path, std::chrono::seconds longest,
                   const std::function<bool(std::string_view)>& hear);

// The same event by event, from behind the event `last` on (empty: from the start). False: nobody answers, or it cannot
// stream now. Another refusal is thrown as by ask(), and what `hear` throws goes on.
bool follow_events(const Remote& server, const std::string& path, const std::string& last,
                   const EventReader::Hear& hear);

// True where a Skald answers at that address, within two seconds.
bool answers(const std::string& address);

// The body of a good answer. A problem is thrown as Refused with its code and
// detail.
std::string ask(const Api& api, const std::string& method, const std::string& path,
                const std::map<std::string, std::string>& query = {}, const std::string& body = "");

}  // namespace skald::cli
