// A simulated service's courier. It gives up, and is told, as NatsCourier: nobody where the service is not there or its own
// connection is known to be gone, silence after a while or for an answer that cannot be read; and each callback once,
// whatever comes afterwards. On their way letters, questions and answers are lost, doubled, delayed for up to hours, and
// cut short.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/post_office.h"
#include "skald/post.h"

namespace skald::sim {

class SimCourier final : public Courier {
 public:
  // Its service's name. `sends` hears of each letter.
  SimCourier(
      Stage& stage, PostNetwork& network, PostOffice& office, std::string service,
      std::function<void(const Letter&)> sends = [](const Letter&) {})
      : stage_(stage), network_(network), office_(office), service_(std::move(service)), sends_(std::move(sends)) {}

  void send(const std::string& to, Letter letter, Answered answered) override;
  void ask(const std::string& to, Inquiry inquiry, Known known) override;
  void poll(Duration wait, std::span<const int> wake) override;
  bool is_up() const override { return !network_.is_cut_off(service_); }

  // When poll() has something to tell.
  std::optional<Instant> next_answer() const;

 private:
  struct Reply {
    enum class Kind { none, nobody, text } kind = Kind::none;
    std::string text = {};
  };
  struct UnderWay {
    std::shared_ptr<Reply> reply;
    Instant given_up;
    std::function<void(const Reply&)> tell;
  };

  void put(const std::string& to, const std::string& text, std::function<void(const Reply&)> tell);
  void carry(const std::string& to, const std::string& text, Duration way, const std::shared_ptr<Reply>& reply);
  PostOffice::Reply way_back(const std::shared_ptr<Reply>& reply);
  Answer answer_of(const Reply& reply, const std::vector<std::string>& ids);
  static bool is_over(const UnderWay& one, Instant now) {
    return one.reply->kind != Reply::Kind::none || one.given_up <= now;
  }

  Stage& stage_;
  PostNetwork& network_;
  PostOffice& office_;
  const std::string service_;
  const std::function<void(const Letter&)> sends_;
  std::vector<UnderWay> under_way_;
};

}  // namespace skald::sim
