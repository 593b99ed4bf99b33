#include "booking/views.h"

#include "booking/lifecycle.h"

namespace booking {

BookingView view_of(const Booking& booking) {
  const golf::BookingNews news = news_of(booking);
  return {.id = booking.id,
          .number = booking.number,
          .slot_id = booking.slot_id,
          .customer = booking.customer,
          .players = booking.players,
          .status = booking.status,
          .reason = news.reason,
          .price = news.price,
          .refund = news.refund,
          .starts_at = booking.starts_at,
          .saga_id = booking.id,
          .created_at = booking.created_at,
          .updated_at = booking.updated_at};
}

}  // namespace booking
