// The booking system: three services with a database each, the network between them, its
// customers and admins. Seats are checked at every commit of course; in the end everything
// heals, operators replay what lies in the dead letters, and all that was promised must hold.
#pragma once

#include <array>
#include <memory>

#include "sim/booking_clients.h"
#include "sim/booking_ledger.h"
#include "sim/booking_site.h"
#include "sim/booking_unit.h"
#include "sim/post_office.h"
#include "sim/scheduler.h"
#include "sim/signals.h"

namespace skald::sim {

class BookingWorld final : public Scheduler, private BookingSite, private PostSite {
 public:
  BookingWorld(std::uint64_t seed, Workload workload, std::ostream* trace);

  // Throws BrokenInvariant.
  void run();

  std::uint64_t hash() const { return stage_.trace.hash(); }
  const Markers& markers() const { return stage_.markers; }

 private:
  void begin_process(int slot) override;
  void end_process(int slot, bool graceful) override;
  bool writer_stopped(int slot) override { return unit(slot).db().writer_stopped(); }
  void drain(int slot) override { unit(slot).steps().drain(); }
  bool drained(int slot) override { return unit(slot).steps().relay_idle(); }
  void leave(int slot) override { unit(slot).steps().leave(); }
  std::optional<Instant> next_arrival() override { return network_.next(); }
  void deliver_due() override { network_.deliver_due(); }
  void observe() override;

  std::optional<Response> call(Service service, const Caller& caller, Request request) override;
  bool work(Service service, const std::function<void(BookingUnit&)>& body) override;
  Presence presence(std::string_view service) const override;
  bool open(std::string_view service, const std::function<void(Engine&)>& body) override;

  void add_machine(Service service);
  void add_outside();
  void open_slots();
  Response ask_course(const Request& request);
  void committed(Service service, std::string_view name);
  void alerted(std::string_view code, std::string_view text);
  void sent(const Letter& letter);
  void pause_noting(int slot, Duration time, bool whole_process);
  void heal();
  void run_until_quiet();
  // What waits for a person goes on; false: nothing does.
  bool help();
  BookingUnit& unit(int slot) { return *units_[static_cast<std::size_t>(slot)]; }

  Stage stage_;
  BookingDisks disks_;
  BookingLedger ledger_;
  PostNetwork network_;
  PostOffice office_;
  BookingClients clients_;
  std::array<std::unique_ptr<BookingUnit>, std::size(kServices)> units_;
  std::map<std::string, std::set<std::string>> releases_;  // of each booking, the ids that they were sent under
  std::optional<BrokenInvariant> broken_;   // seen inside of a process, whose HTTP edge catches everything
};

}  // namespace skald::sim
