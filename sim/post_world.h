// Two services that send each other notes by the post, on disks that are put back to earlier copies now and then. The other
// side must notice; what a sender still keeps and its receiver has not lands again. What must hold in the end:
//   P1 each note that a service has written, by its present history, was heard by the other once
//   P2 the notes of a key were heard in their order, but for what was replayed, and what a restored sender has forgotten
//   P3 everything comes to its end: nothing is owed, and both ends of every lane agree
//   P4 a person is told of what was restored, and of nothing else
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "sim/post_checks.h"
#include "sim/post_office.h"
#include "sim/post_unit.h"
#include "sim/restorable_disk.h"
#include "sim/scheduler.h"
#include "sim/signals.h"

namespace skald::sim {

class PostWorld final : public Scheduler, private PostSite {
 public:
  PostWorld(std::uint64_t seed, Workload workload, std::ostream* trace);

  // Throws BrokenInvariant.
  void run();

  std::uint64_t hash() const { return stage_.trace.hash(); }
  const Markers& markers() const { return stage_.markers; }

 private:
  static constexpr int kServices = 2;
  struct Machine {
    std::string name, other;
    std::unique_ptr<RestorableDisk> disk;
    std::unique_ptr<PostUnit> unit;
    bool is_to_be_restored = false;  // when it starts again
    std::int64_t written = 0;
  };

  void begin_process(int slot) override;
  void end_process(int slot, bool graceful) override;
  bool writer_stopped(int slot) override { return unit(slot).db().writer_stopped(); }
  void drain(int slot) override { unit(slot).steps().drain(); }
  bool drained(int slot) override { return unit(slot).steps().relay_idle(); }
  void leave(int slot) override { unit(slot).steps().leave(); }
  std::optional<Instant> next_arrival() override { return network_.next(); }
  void deliver_due() override { network_.deliver_due(); }
  void observe() override;

  Presence presence(std::string_view service) const override;
  bool open(std::string_view service, const std::function<void(Engine&)>& body) override;

  void add_machine(int index);
  void add_outside();
  void write_notes(int index);
  void spoil();
  void restore(Machine& machine);
  bool is_noticeable();
  void alerted(std::string_view code, std::string_view text);
  bool work(int index, const std::function<void(PostUnit&)>& body);
  void heal();
  void run_until_quiet();
  std::string unfinished();
  bool help();
  void check_end();
  void check_heard(Machine& from, Machine& to);
  Machine& machine(int index) { return machines_[static_cast<std::size_t>(index)]; }
  PostUnit& unit(int index) { return *machine(index).unit; }
  int index_of(std::string_view service) const { return service == machines_[0].name ? 0 : 1; }
  std::vector<PostEnd> ends();

  Stage stage_;
  PostNetwork network_;
  PostOffice office_;
  std::array<Machine, kServices> machines_;
  bool is_restored_ = false;  // some disk was, ever
  bool is_to_be_told_ = false;  // and nobody was told yet
  std::optional<BrokenInvariant> broken_;
};

}  // namespace skald::sim
