// What the engine's own tables say of a business key: sagas by their id or key, events by
// their subject.
#pragma once

#include "skald/sagas.h"
#include "skald/story.h"

namespace skald::runtime {

StoryPart tell(Transaction& tx, Sagas& sagas, const std::string& name);

}  // namespace skald::runtime
