#include "interleave/planted.h"

#include <atomic>

namespace skald {
namespace {

constexpr int kNone = -1;
std::atomic<int> broken = kNone;

}  // namespace

bool seam::holds(Rule rule) { return broken.load(std::memory_order_relaxed) != static_cast<int>(rule); }

namespace test {

Planted::Planted(seam::Rule rule) { broken = static_cast<int>(rule); }
Planted::~Planted() { broken = kNone; }

}  // namespace test
}  // namespace skald
