#include "sim_kit/watched.h"

#include <algorithm>

namespace skald::sim::kit {
namespace {

using saga::Definition;
using saga::Step;

// What is known of a step before it runs.
struct Watch {
  Stage& stage;
  saga::Codec codec;
  std::optional<Duration> deadline;
  Place place;

  Place at(const StepContext& context) const {
    Place here = place;
    here.saga = context.saga_id;
    here.element = context.element;
    here.text = (here.undo ? "the undo of '" : "step '") + context.step + "'";
    if (stage.ids.size() > 1 || context.saga_id != stage.ids.front()) here.text += " of " + context.saga_id;
    return here;
  }
};

// What the step did is there when it fails: the engine must take it away again.
void after_local(const Watch& watch, const StepContext& context) {
  const Place here = watch.at(context);
  watch.stage.note("  " + here.text + " ran");
  const auto kind = watch.stage.meet(here);
  if (kind == Kind::busy) throw Busy("SIM_BUSY", "simulated: it is busy");
  if (kind == Kind::refused) throw Refused("SIM_REFUSED", "simulated: the business says no");
}

using Call = std::function<void(Remote&, void*, std::size_t)>;

void arrive_late(const Watch& watch, const Call& call, const Remote& step, const void* state) {
  watch.stage.late.push_back([&stage = watch.stage, call, context = step.context(), key = step.idempotency_key(),
                              fence = step.fence(), timeout = step.timeout(), copy = watch.codec.copy(state)] {
    stage.note("the late call of '" + context.step + "' arrives");
    Remote again(context, key, fence, timeout);
    try {
      call(again, copy.get(), context.element);
    } catch (const std::exception&) {
      // nobody waits for this answer
    }
  });
}

std::string whose(const Place& here, bool undo) {
  return here.saga + "/" + std::to_string(here.step) + "/" + std::to_string(here.element) + (undo ? "/undo" : "");
}

void check_key(Stage& stage, const Place& here, const std::string& key) {
  const auto [known, first] = stage.keys.emplace(whose(here, here.undo), key);
  if (!first && known->second != key)
    stage.violate("the call of " + here.text + " had two idempotency keys: " + known->second + " and " + key);
}

void make_call(const Watch& watch, const Call& call, Remote& step, void* state) {
  Stage& stage = watch.stage;
  const std::string& key = step.idempotency_key();
  const auto make = [&](void* with) {
    stage.made.insert(key);
    call(step, with, step.context().element);
  };
  Place here = watch.at(step.context());
  here.happened = stage.made.contains(key);
  check_key(stage, here, key);
  stage.note("  call of " + here.text + " with key " + key);
  const auto kind = stage.meet(here);
  if (kind == Kind::refused) throw Refused("SIM_REFUSED", "simulated: the answer is no");
  if (kind == Kind::unavailable) throw Unavailable("SIM_UNAVAILABLE", "simulated: nobody is there");
  if (kind == Kind::lost_back || kind == Kind::called_twice) make(watch.codec.copy(state).get());
  if (kind == Kind::late || kind == Kind::overtaken) arrive_late(watch, call, step, state);
  if (kind == Kind::overtaken) stage.timeline.advance(*watch.deadline);
  if (kind && kind != Kind::called_twice) throw CommitUnknown("SIM_NO_ANSWER", "simulated: no answer came");
  make(state);
  if (!here.undo) return;
  // Where it is done anew it is another call.
  stage.keys.erase(whose(here, false));
  stage.keys.erase(whose(here, true));
}

void watch_actions(saga::Actions& actions, const Watch& watch) {
  if (actions.local) {
    Watch here = watch;
    here.place.what = Place::What::local;
    actions.local = [run = actions.local, here](Local& step, void* state, std::size_t element) {
      run(step, state, element);
      after_local(here, step.context());
    };
  }
  if (actions.remote) {
    Watch here = watch;
    here.place.what = Place::What::remote;
    actions.remote = [call = actions.remote, here](Remote& step, void* state, std::size_t) {
      make_call(here, call, step, state);
    };
  }
}

}  // namespace

Definition watched(Definition definition, Stage& stage) {
  const auto pivot = std::ranges::find_if(definition.steps, &Step::pivot);
  for (auto step = definition.steps.begin(); step != definition.steps.end(); ++step) {
    Watch watch{stage, definition.codec, definition.deadline, {}};
    watch.place.step = static_cast<int>(step - definition.steps.begin());
    watch.place.way_back = !definition.forward_only && step <= pivot;
    watch.place.cancellable = watch.place.way_back && !step->pivot && step->undo.remote && definition.deadline;
    watch_actions(step->run, watch);
    if (step->receive) {
      watch.place.what = Place::What::local;
      step->receive = [receive = step->receive, watch](Local& local, void* state, const RawJson& payload) {
        receive(local, state, payload);
        after_local(watch, local.context());
      };
    }
    watch.place = {.step = watch.place.step, .undo = true};
    watch_actions(step->undo, watch);
  }
  return definition;
}

}  // namespace skald::sim::kit
