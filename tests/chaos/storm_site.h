// `skald serve` with donations and orders, in one process on SQLite or some on PostgreSQL; a payment
// provider and a receiver of announcements, both slow, which outlive it. Thread safe, but for
// kill() and look_after(), which belong to the thread that made it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chaos/service_process.h"
#include "crash/scene.h"
#include "skald/http.h"
#include "support/http_receiver.h"

namespace skald::chaos {

struct StormSetup {
  Dialect dialect = Dialect::sqlite;
  std::size_t workers = 1;
  int latency_ms = 0;              // of provider and receiver
  std::string program = {};        // that the servers are at first; empty: this version's
  std::string name() const;
};

// What is accepted and has not come to its end.
struct Census {
  std::size_t orders = 0, donations = 0;
  bool empty() const { return orders + donations == 0; }
};

class StormSite {
 public:
  explicit StormSite(const StormSetup& setup);

  std::size_t size() const { return servers_.size(); }
  test::HttpReceiver& receiver() { return receiver_; }
  std::vector<order::Charge> charges() const { return crash::charges_at(*provider_); }

  void kill(std::size_t worker) { servers_[worker]->kill_and_restart(); }
  int end(std::size_t worker) { return servers_[worker]->end(); }
  void start_as(std::size_t worker, const std::string& program) { servers_[worker]->start_as(program); }
  ServiceProcess& server(std::size_t worker) { return *servers_[worker]; }
  // On PostgreSQL.
  const std::string& database_url() const { return database_->url(); }
  // Starts again who has ended by himself, and adds him to `faults`.
  void look_after(std::vector<std::string>& faults);

  // None where that server does not answer.
  std::optional<test::HttpAnswer> ask(std::size_t worker, const std::string& method, const std::string& target,
                                      const std::string& body = "", const std::vector<std::string>& headers = {}) const;
  // By the first server that answers; none where none does.
  std::optional<Census> census() const;
  // Insists; std::runtime_error where nobody gives such an answer for long.
  std::string get(const std::string& target) const { return insist("GET", target, "", 200); }
  template <class T>
  T get_as(const std::string& target) const {
    return from_json<T>(get(target));
  }
  // The items of all pages.
  template <class T>
  std::vector<T> list(const std::string& target) const {
    std::vector<T> out;
    for (std::string cursor;;) {
      const auto page =
          get_as<Listing<T>>(target + (target.find('?') == target.npos ? "?" : "&") + "limit=200" + cursor);
      out.insert(out.end(), page.items.begin(), page.items.end());
      if (!page.next_cursor) return out;
      cursor = "&cursor=" + *page.next_cursor;
    }
  }

 private:
  std::string insist(const std::string& method, const std::string& target, const std::string& body, int status) const;
  void offer_products() const;

  test::TemporaryFolder folder_;
  std::unique_ptr<test::ScratchPostgres> database_;
  test::HttpReceiver receiver_;
  std::unique_ptr<crash::ServedProcess> provider_;
  std::vector<std::unique_ptr<ServiceProcess>> servers_;
};

}  // namespace skald::chaos
