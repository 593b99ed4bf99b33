// skald_signal: what was sent to sagas that wait, until they take it.
#pragma once

#include <optional>
#include <string>

#include "skald/database.h"

namespace skald::tables::signal {

// False: a signal of this id has been sent before.
bool insert(Transaction& tx, std::string_view id, std::string_view saga_id, std::string_view name,
            std::string_view payload);
// The oldest of that name, and takes it away.
std::optional<std::string> take(Transaction& tx, std::string_view saga_id, std::string_view name);
void forget(Transaction& tx, std::string_view saga_id);

}  // namespace skald::tables::signal
