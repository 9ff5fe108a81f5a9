#pragma once

#include <lockstep/loader.h>

#include <memory>

namespace lockstep::lab {

/// The batches of a loader, epoch after epoch without end.
class BatchStream {
 public:
  explicit BatchStream(Loader& loader) : loader_(loader) {}

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

 private:
  Loader& loader_;
  std::unique_ptr<Loader::Epoch> epoch_;
  Loader::Iterator place_;
};

}  // namespace lockstep::lab
