#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep {

/// Who waits on this rank for gradients to come, and whether any came. A group's loaders and replicas share it as the
/// group's attribute.
class GradientListeners {
 public:
  using Look = std::function<void()>;

  /// For as long as somebody owns `look`.
  void add(std::weak_ptr<const Look> look) { looks_.push_back(std::move(look)); }
  void heard() { heard_ = true; }
  /// Where an iteration ends: if nobody heard of a gradient in it, all have a look what is the matter. What one throws
  /// comes out.
  void end_iteration() {
    if (std::exchange(heard_, false)) return;
    std::erase_if(looks_, [](const auto& look) { return look.expired(); });
    for (const auto& look : looks_) {
      if (const auto there = look.lock()) (*there)();
    }
  }

 private:
  std::vector<std::weak_ptr<const Look>> looks_;
  bool heard_ = false;
};

}  // namespace lockstep
