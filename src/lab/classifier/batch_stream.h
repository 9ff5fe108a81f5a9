#pragma once

#include <lockstep/loader.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace lockstep::lab {

/// The batches of a loader, epoch after epoch without end.
class BatchStream {
 public:
  /// Of a loader, or of one on each rank, of `examples` examples, `batch` of them at a time, on all ranks together.
  BatchStream(Loader& loader, std::int64_t examples, std::int64_t batch)
      : loader_(loader), examples_(examples), batch_(batch) {}

  /// Valid until the next call. Collective where the loader's own loop is.
  Batch& next() {
    if (epoch_ != nullptr) ++place_;
    while (epoch_ == nullptr || place_ == epoch_->end()) {
      epoch_.reset();  // before the next one begins
      epoch_.reset(new Loader::Epoch(loader_.epoch()));
      place_ = epoch_->begin();
    }
    return *place_;
  }

  /// Samples of all ranks in the next `batches` batches.
  std::int64_t samples_ahead(std::int64_t batches) const {
    std::int64_t samples = 0, place = loader_.position().batch;
    for (std::int64_t i = 0; i < batches; ++i, ++place) {
      if (place == loader_.batches()) place = 0;  // of the next epoch
      samples += std::min(batch_, examples_ - place * batch_);
    }
    return samples;
  }

 private:
  Loader& loader_;
  std::int64_t examples_;
  std::int64_t batch_;
  std::unique_ptr<Loader::Epoch> epoch_;
  Loader::Iterator place_;
};

}  // namespace lockstep::lab
