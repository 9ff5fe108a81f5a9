#include "group/engine.h"
#include "planner/one_host/machine.h"
#include "runtime/letter_operation.h"
#include "runtime/shared_memory_operation.h"
#include "runtime/staging_ring.h"

#include <map>
#include <string>
#include <tuple>

namespace lockstep::detail {

namespace {

class SharedMemoryEngine final : public Engine {
 public:
  explicit SharedMemoryEngine(std::unique_ptr<Transport> transport)
      : transport_(std::move(transport)), staging_(transport_->staging_bytes()) {}

  int rank() const override { return transport_->rank(); }
  int size() const override { return transport_->size(); }
  Medium medium() const override { return Medium::kSharedMemory; }
  bool takes(Device device) const override { return transport_->takes(device); }
  RegisteredMemory allocate(std::size_t bytes) override { return transport_->allocate(bytes); }
  bool is_registered(const void* data, std::size_t bytes) const override {
    return transport_->offset_of(data, bytes).has_value();
  }
  ByteStreams& messages() override { return transport_->messages(); }
  std::uint64_t bytes_sent() const override { return 0; }  // peers read where it lies
  void fail(const Error& error) noexcept override { transport_->fail(error); }
  void look_around() override { transport_->look_around(); }
  std::string open_meeting() override { return transport_->open_meeting(); }
  std::unique_ptr<Engine> join(const Meeting& meeting) override { return make_engine(transport_->join(meeting)); }

  std::unique_ptr<RunningOperation> prepare(Shape shape) override {
    if (may_be_letters(shape)) {
      auto spans = letter_spans(*shape.schedule, shape.layout, shape.announcement.dtype);
      if (longest(spans) <= transport_->letter_bytes()) return prepare_letters(std::move(shape), std::move(spans));
    }
    auto plan = plan_for(*shape.schedule, shape.registered && runs_in_place(*shape.schedule));
    shape.announcement.in_place = plan->staging_versions == 0 && shape.registered;
    shape.announcement.fingerprint = fingerprint_of(shape.announcement);
    return std::make_unique<SharedMemoryOperation>(*transport_, staging_,
                                                   SharedMemoryOperation::Setup{.plan = std::move(plan),
                                                                                .announcement = shape.announcement,
                                                                                .layout = std::move(shape.layout),
                                                                                .caches = caches_of(this_machine())});
  }

 private:
  static bool may_be_letters(const Shape& shape) {
    const Announcement& what = shape.announcement;
    // With unequal blocks for each pair, ranks' buffers differ in size.
    if (what.collective == Collective::kAllToAll && what.blocks != 0) return false;
    return is_one_exchange(*shape.schedule);
  }

  std::unique_ptr<RunningOperation> prepare_letters(Shape shape, std::vector<LetterSpan> spans) {
    shape.announcement.fingerprint = fingerprint_of(shape.announcement);
    return std::make_unique<LetterOperation>(*transport_, letters_,
                                             LetterOperation::Setup{.plan = plan_for(*shape.schedule, false),
                                                                    .announcement = shape.announcement,
                                                                    .layout = std::move(shape.layout),
                                                                    .spans = std::move(spans)});
  }

  std::shared_ptr<const Plan> plan_for(const Schedule& schedule, bool in_place) {
    auto& plan = plans_[{schedule.name, schedule.collective, schedule.root, in_place}];
    if (!plan) {
      const int rank = transport_->rank();
      plan = std::make_shared<const Plan>(in_place ? make_in_place_plan(schedule, rank)
                                                   : make_staged_plan(schedule, rank));
    }
    return plan;
  }

  std::unique_ptr<Transport> transport_;
  StagingRing staging_;
  LetterOperation::Letters letters_;
  std::map<std::tuple<std::string, Collective, int, bool>, std::shared_ptr<const Plan>> plans_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(std::unique_ptr<Transport> transport) {
  return std::make_unique<SharedMemoryEngine>(std::move(transport));
}

}  // namespace lockstep::detail
