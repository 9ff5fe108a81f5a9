#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace lockstep {

/// What a core has touched since it last touched a block: the stack distance of Mattson, Gecsei, Slutz and Traiger
/// (Evaluation techniques for storage hierarchies, 1970). A cache that gives up what was not used for longest still
/// holds the block if it has room for the distance. Every operation takes the logarithm of the number of blocks.
class ReuseDistance {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  /// Blocks have the numbers 0 to `blocks` - 1 and the same size.
  explicit ReuseDistance(std::size_t blocks);

  /// Of a block, in blocks that were touched after it, each counted once, and half of itself; kNever if it was not
  /// touched, or dropped since.
  double of(std::size_t block) const;
  void touch(std::size_t block);
  /// So many blocks of something else have been touched, each for the only time.
  void touch_others(double blocks) { others_ += blocks; }
  /// Another core has taken it away.
  void drop(std::size_t block);

 private:
  static constexpr std::uint32_t kNone = 0;  ///< moments count from 1

  void add(std::uint32_t moment, std::int32_t change);
  std::uint32_t touched_until(std::uint32_t moment) const;
  /// Numbers the moments of what is there anew, from 1.
  void forget_gaps();

  std::vector<std::uint32_t> last_;   ///< moment of each block's last touch
  std::vector<double> others_then_;   ///< and others_ at that moment
  std::vector<std::int32_t> counts_;  ///< a Fenwick tree of how many blocks were touched last at each moment
  double others_ = 0;
  std::uint32_t now_ = 0;
  std::uint32_t present_ = 0;
};

}  // namespace lockstep
