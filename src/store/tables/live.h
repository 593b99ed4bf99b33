// For statements that name their rows by id.
#pragma once

// Not `live = 1`: that would let PostgreSQL walk a partial index of all live rows instead,
// which looked just as cheap when the table was last analysed with few of them.
#define SKALD_STILL_LIVE "live + 0 = 1"
