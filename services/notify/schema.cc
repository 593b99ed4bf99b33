#include <array>

#include "notify/notify.h"

namespace notify {
namespace {

constexpr const char* kNotifications = R"sql(
  CREATE TABLE notify_notification (
    booking_id TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, customer TEXT NOT NULL, text TEXT NOT NULL,
    channel TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (booking_id, kind)))sql";

}  // namespace

std::span<const skald::Migration> migrations() {
  static const std::array<skald::Migration, 1> steps = {
      skald::Migration{.version = 1, .name = "notifications", .sql = kNotifications, .postgres_sql = ""}};
  return steps;
}

}  // namespace notify
