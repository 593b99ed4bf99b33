// What a call outside of the database suffers in one process of agentflow. Each may come late, fail before it begins, be
// cut off between two of its parts, lose its answer after it is done, or be the last thing that the process does.
//
// | drawn          | what happens                                                        |
// | slow           | others work before or after it                                      |
// | fails          | Unavailable, nothing is done; sometimes so for seconds              |
// | cut off        | Unavailable or Refused, a part of it is done                        |
// | answer lost    | Unavailable, all of it is done                                      |
// | dies           | the process ends before it, after it, or between two parts          |
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/stage.h"
#include "skald/error.h"

namespace skald::sim {

// Called between two parts of an effect; what it throws ends the effect there.
using Cut = std::function<void()>;

// How the real thing tells of its troubles.
struct FlowTroubles {
  std::vector<const char*> fails = {};  // codes of Unavailable before anything is done
  const char* cut_off = nullptr;  // of Unavailable in the middle
  const char* refused = nullptr;  // of Refused, before or in the middle
  const char* lost = nullptr;  // of Unavailable after the end
};

// Until when calls of that name fail; they do so in every process.
using FlowOutages = std::map<std::string, Instant, std::less<>>;

class FlowFaults {
 public:
  struct Wiring {
    std::function<void(Duration)> pause;
    std::function<bool()> dying;
    std::function<void()> crashes;
  };
  FlowFaults(Stage& stage, FlowOutages& outages, Wiring wiring)
      : stage_(stage), outages_(outages), wiring_(std::move(wiring)) {}

  // `effect` is given a Cut.
  template <class Effect>
  auto suffer(std::string_view name, const FlowTroubles& troubles, Effect&& effect) {
    begin(name, troubles);
    const Cut cut = [&] { cut_off(name, troubles); };
    if constexpr (std::is_void_v<decltype(effect(cut))>) {
      effect(cut);
      end(name, troubles);
    } else {
      auto out = effect(cut);
      end(name, troubles);
      return out;
    }
  }

 private:
  void begin(std::string_view name, const FlowTroubles& troubles);
  bool is_out(std::string_view name);
  void cut_off(std::string_view name, const FlowTroubles& troubles);
  void end(std::string_view name, const FlowTroubles& troubles);
  void maybe_pause();
  void maybe_die(std::string_view name, Marker marker);

  Stage& stage_;
  FlowOutages& outages_;
  Wiring wiring_;
};

}  // namespace skald::sim
