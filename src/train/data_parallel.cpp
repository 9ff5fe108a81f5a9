#include <fmt/format.h>
#include <lockstep/data_parallel.h>

#include "train/reducer.h"

namespace lockstep {

DataParallel::DataParallel(const Group& group, torch::nn::Module& module, DataParallelOptions options)
    : reducer_(std::make_shared<detail::Reducer>(group, module, std::move(options))) {}
DataParallel::~DataParallel() = default;
DataParallel::DataParallel(DataParallel&&) noexcept = default;
DataParallel& DataParallel::operator=(DataParallel&&) noexcept = default;

void DataParallel::samples(std::int64_t count) {
  if (count < 0) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("samples({}): a number of samples cannot be negative.", count));
  }
  const Group& group = reducer_->group();
  std::vector<std::int64_t> total{count};
  group.all_reduce(buffer_of(total), ReduceOp::kSum, {.purpose = "number of samples"}).wait();
  if (total[0] == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                "samples(0) on every rank: a backward without samples has no mean. Skip it.");
  }
  group.attribute<BatchShare>() = {count, total[0]};
}

DataParallel::Pause::~Pause() { --depth_; }
DataParallel::Pause DataParallel::pause() { return Pause(reducer_->pause_depth()); }
const SyncReport& DataParallel::report() const { return reducer_->report(); }
std::vector<std::string> DataParallel::parameters_without_gradient() const { return reducer_->unreached(); }

}  // namespace lockstep
