// The letterboxes of the simulated services. They read, answer and land as NatsLetterbox does: what cannot be read is dropped,
// letters that came together land together, and a question that the database cannot answer gets no answer.
//
// | the service's process | what becomes of a letter                        |
// | is there              | it lands, with those that came beside it         |
// | stands still          | it waits in the letterbox, and is lost with it   |
// | is gone               | nobody takes it: the sender hears so, or nothing |
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/post_network.h"
#include "skald/engine.h"

namespace skald::sim {

// The services as the network sees them.
class PostSite {
 public:
  enum class Presence { gone, standing_still, there };
  virtual ~PostSite() = default;
  virtual Presence presence(std::string_view service) const = 0;
  // Runs inside of the service; false: it was not there, or died in it.
  virtual bool open(std::string_view service, const std::function<void(Engine&)>& body) = 0;
};

class PostOffice {
 public:
  using Reply = std::function<void(std::optional<std::string>)>;  // nothing: nobody is there
  PostOffice(Stage& stage, PostNetwork& network, PostSite& site) : stage_(stage), network_(network), site_(site) {}

  // Letters and questions, as bytes.
  void arrive(const std::string& service, std::string text, Reply reply);
  // Its process has ended.
  void clear(std::string_view service);

 private:
  struct Mail {
    std::string text;
    Reply reply;
  };
  struct Answer {
    std::size_t mail;
    std::string text;
  };

  void open_soon(const std::string& service, Duration in);
  void open(const std::string& service);
  std::vector<Answer> take(Engine& engine, const std::vector<Mail>& mails);
  void mark(const Letter& letter, const Receipt& receipt);

  Stage& stage_;
  PostNetwork& network_;
  PostSite& site_;
  std::map<std::string, std::vector<Mail>, std::less<>> boxes_;
};

}  // namespace skald::sim
