#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace lockstep {

/// Flows that share resources max-min fairly, in simulated time. A flow has work of a given length (when alone), and
/// takes a share (0 to 1) of each of its resources' time while it runs at full speed.
class FairSharing {
 public:
  struct Use {
    int resource;
    double share;
  };
  static constexpr std::size_t kMostUses = 6;
  struct Work {
    double alone_s = 0;
    std::size_t use_count = 0;
    std::array<Use, kMostUses> uses{};
  };

  explicit FairSharing(std::size_t resources);

  double now() const { return now_s_; }
  /// Starts work now; `owner` comes back from next() when it is done.
  void start(const Work& work, int owner);
  /// Runs on until something is done, and returns the owners of all that is done then; empty if nothing is under way.
  const std::vector<int>& next();
  /// The work that this was so far: flows and resources looked at to share anew. What a simulation takes follows it.
  double looked_at() const { return looked_at_; }

 private:
  struct Flow {
    Work work;
    int owner = 0;
    std::uint32_t version = 0;  ///< of its end in the queue
    double left = 1;            ///< of the work
    double speed = 0;
    double since_s = 0;
    std::uint64_t visit = 0;
    bool is_active = false;
    bool is_fixed = false;
  };
  struct Resource {
    std::vector<int> flows;  ///< may still hold finished ones, until it is visited
    std::uint64_t visit = 0;
    double left = 1;
    double load = 0;  ///< of its flows that are not fixed yet
    int unfixed = 0;  ///< how many these are, which rounding does not tell from `load`
    bool is_dirty = false;
  };
  struct End {
    double at_s;
    int flow;
    std::uint32_t version;
    bool operator>(const End& other) const { return at_s > other.at_s; }
  };

  void mark(const Work& work);
  void share_again();
  void collect_component(int resource);
  void fill_component();
  void fix(int flow, double speed);
  void finish(int flow);

  double now_s_ = 0;
  double looked_at_ = 0;
  std::uint64_t visits_ = 0;
  std::vector<Flow> flows_;
  std::vector<int> finished_;  ///< still listed by resources until these are visited
  std::vector<int> unused_;    ///< places of flows_ that may be taken again
  std::vector<Resource> resources_;
  std::vector<int> dirty_;
  std::vector<int> component_flows_;
  std::vector<int> component_resources_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<int> done_;
};

}  // namespace lockstep
