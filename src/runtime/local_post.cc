#include "runtime/local_post.h"

#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/wakeup.h"

namespace skald::runtime {
namespace local_post {

using Reply = std::function<void()>;  // for the thread of the courier

// Where what is for one thread waits for it.
template <class T>
class Tray {
 public:
  void put(T one) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(one));
    }
    wakeup_.set();
  }
  std::deque<T> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
  }
  void wait(Duration longest, std::span<const int> wake) { wakeup_.wait(longest, wake); }

 private:
  std::mutex mutex_;
  std::deque<T> waiting_;
  Wakeup wakeup_;
};

struct Mail {
  std::variant<Letter, Inquiry> content;
  // One of them, by the letterbox's thread.
  std::function<void(Courier::Answer)> answered = {};
  std::function<void(std::optional<Knowledge>)> known = {};

  void return_to_sender() {
    if (answered) answered({Courier::Answer::Kind::nobody});
    if (known) known(std::nullopt);
  }
};

}  // namespace local_post

using local_post::Mail;
using local_post::Reply;
using local_post::Tray;

// Knows the letterboxes that there are, and the couriers that are to hear when one opens.
class LocalPost::Office {
 public:
  std::shared_ptr<Tray<Mail>> open(const std::string& service) {
    const std::lock_guard lock(mutex_);
    return boxes_[service] = std::make_shared<Tray<Mail>>();
  }
  void tell_return(const std::string& service) {
    const std::lock_guard lock(mutex_);
    for (const auto& [courier, returned] : returned_) returned(service);
  }
  // Nothing: no longer.
  void tell_returns_to(const void* courier, std::function<void(const std::string&)> returned) {
    const std::lock_guard lock(mutex_);
    if (returned) returned_[courier] = std::move(returned);
    else returned_.erase(courier);
  }
  void close(const std::string& service, const std::shared_ptr<Tray<Mail>>& box) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = boxes_.find(service); found != boxes_.end() && found->second == box) boxes_.erase(found);
    }
    for (Mail& mail : box->take()) mail.return_to_sender();
  }
  void put(const std::string& service, Mail mail) {
    const std::lock_guard lock(mutex_);
    const auto found = boxes_.find(service);
    if (found == boxes_.end()) mail.return_to_sender();
    else found->second->put(std::move(mail));
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Tray<Mail>>> boxes_;
  std::map<const void*, std::function<void(const std::string&)>> returned_;
};

class LocalPost::LocalCourier final : public Courier {
 public:
  explicit LocalCourier(std::shared_ptr<Office> office) : office_(std::move(office)) {}
  ~LocalCourier() override { office_->tell_returns_to(this, {}); }

  void send(const std::string& service, Letter letter, Answered answered) override {
    office_->put(service, {std::move(letter), reply<Answer>(std::move(answered)), {}});
  }
  void ask(const std::string& service, Inquiry inquiry, Known known) override {
    office_->put(service, {std::move(inquiry), {}, reply<std::optional<Knowledge>>(std::move(known))});
  }
  void poll(Duration wait, std::span<const int> wake) override {
    if (wait > Duration::zero()) replies_->wait(wait, wake);
    for (Reply& tell : replies_->take()) tell();
  }
  void on_return(Returned returned) override {
    office_->tell_returns_to(this, reply<std::string>(std::move(returned)));
  }

 private:
  // Whoever calls it, the caller's own thread is told.
  template <class T>
  std::function<void(T)> reply(std::function<void(T)> told) {
    return [replies = replies_, told = std::move(told)](T answer) {
      replies->put([told, answer = std::move(answer)]() mutable { told(std::move(answer)); });
    };
  }

  std::shared_ptr<Office> office_;
  std::shared_ptr<Tray<Reply>> replies_ = std::make_shared<Tray<Reply>>();
};

class LocalPost::Letterbox final : public Inlet {
 public:
  Letterbox(std::shared_ptr<Office> office, std::string service, PostHandlers handlers)
      : office_(std::move(office)),
        service_(std::move(service)),
        handlers_(std::move(handlers)),
        box_(office_->open(service_)) {}
  ~Letterbox() override { office_->close(service_, box_); }

  // One process has them all; without them nothing is taken.
  void set_partitions(std::uint64_t mask) override {
    const bool was_open = std::exchange(is_open_, mask != 0);
    if (is_open_ && !was_open) office_->tell_return(service_);
  }
  void poll(Duration wait, std::span<const int> wake) override {
    if (wait > Duration::zero()) box_->wait(wait, wake);
    std::deque<Mail> mails = box_->take();
    std::vector<Letter> letters;
    std::vector<Mail*> of_letters;
    for (Mail& mail : mails) {
      if (!is_open_) {
        mail.return_to_sender();
      } else if (auto* letter = std::get_if<Letter>(&mail.content)) {
        letters.push_back(std::move(*letter));
        of_letters.push_back(&mail);
      } else {
        answer(mail);
      }
    }
    if (letters.empty()) return;
    auto receipts = handlers_.accept(letters);
    for (std::size_t i = 0; i < letters.size(); ++i)
      of_letters[i]->answered({Courier::Answer::Kind::receipt, std::move(receipts[i])});
  }
  bool is_up() const override { return true; }
  Duration memory() const override { return Duration::zero(); }

 private:
  void answer(Mail& mail) {
    std::optional<Knowledge> knowledge;
    try {
      knowledge = handlers_.answer(std::get<Inquiry>(mail.content));
    } catch (const Error&) {
      // no answer: it is asked again
    }
    mail.known(std::move(knowledge));
  }

  std::shared_ptr<Office> office_;
  const std::string service_;
  const PostHandlers handlers_;
  std::shared_ptr<Tray<Mail>> box_;
  bool is_open_ = false;
};

LocalPost::LocalPost() : office_(std::make_shared<Office>()) {}
std::unique_ptr<Courier> LocalPost::courier() { return std::make_unique<LocalCourier>(office_); }
std::unique_ptr<Inlet> LocalPost::letterbox(const std::string& service, PostHandlers handlers) {
  return std::make_unique<Letterbox>(office_, service, std::move(handlers));
}

}  // namespace skald::runtime
