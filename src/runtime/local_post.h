// Letters within a process: from engine to engine, by the same protocol as between processes.
//
//   LocalPost post;
//   auto courier = post.courier();                          // of the engine that sends
//   auto letterbox = post.letterbox("course", {…});         // of the engine that receives
//
// Thread safe: each courier and letterbox belongs to one thread, and these may differ. Couriers and letterboxes may go in
// any order, and before this or after it: what waits for one that is gone is answered with `nobody`.
#pragma once

#include <memory>
#include <string>

#include "skald/post.h"

namespace skald::runtime {

class LocalPost {
 public:
  LocalPost();
  std::unique_ptr<Courier> courier();
  std::unique_ptr<Inlet> letterbox(const std::string& service, PostHandlers handlers);

 private:
  class Office;
  class LocalCourier;
  class Letterbox;
  std::shared_ptr<Office> office_;
};

}  // namespace skald::runtime
