#include "planner/network/closed_form.h"

#include <algorithm>
#include <cmath>

namespace lockstep {

Estimate operator+(const Estimate& first, const Estimate& second) {
  return {first.seconds + second.seconds, first.steps + second.steps, first.messages + second.messages,
          first.bytes + second.bytes, first.most_sent_bytes + second.most_sent_bytes};
}

namespace {

/// `steps` messages after one another of `bytes` each, of which `reduced_steps` are reduced on arrival.
double rounds(double steps, double bytes, double reduced_steps, const FlatCost& cost) {
  return steps * (cost.alpha_s + bytes * cost.beta_s) + reduced_steps * bytes * cost.gamma_s;
}

double levels(double p) { return std::ceil(std::log2(p) - 1e-9); }

Estimate naive(double p, double n, const FlatCost& cost) {
  return {rounds(p - 1, n, p - 1, cost), p > 1 ? 1.0 : 0.0, p * (p - 1), p * (p - 1) * n, (p - 1) * n};
}

Estimate star(double p, double n, const FlatCost& cost) {
  return {rounds(2 * (p - 1), n, p - 1, cost), p > 1 ? 2.0 : 0.0, 2 * (p - 1), 2 * (p - 1) * n, (p - 1) * n};
}

/// One half of an exchange of n/p with everybody, all at once or around a ring.
Estimate half(double p, double n, double steps, double reduced, const FlatCost& cost) {
  return {rounds(p - 1, n / p, reduced * (p - 1), cost), steps, p * (p - 1), (p - 1) * n, (p - 1) / p * n};
}

double one_step(double p) { return p > 1 ? 1 : 0; }

Estimate direct_reduce_scatter(double p, double n, const FlatCost& cost) { return half(p, n, one_step(p), 1, cost); }
Estimate direct_all_gather(double p, double n, const FlatCost& cost) { return half(p, n, one_step(p), 0, cost); }
Estimate direct(double p, double n, const FlatCost& cost) {
  return direct_reduce_scatter(p, n, cost) + direct_all_gather(p, n, cost);
}

/// With a root that sends to, or hears from, every other rank in its turn `bytes` each.
Estimate with_everybody(double p, double bytes, double reduced, double most_sent, const FlatCost& cost) {
  return {rounds(p - 1, bytes, reduced * (p - 1), cost), one_step(p), p - 1, (p - 1) * bytes, most_sent};
}
Estimate star_broadcast(double p, double n, const FlatCost& cost) { return with_everybody(p, n, 0, (p - 1) * n, cost); }
Estimate star_reduce(double p, double n, const FlatCost& cost) {
  return with_everybody(p, n, 1, one_step(p) * n, cost);
}
Estimate star_scatter(double p, double n, const FlatCost& cost) {
  return with_everybody(p, n / p, 0, (p - 1) / p * n, cost);
}
Estimate star_gather(double p, double n, const FlatCost& cost) {
  return with_everybody(p, n / p, 0, one_step(p) * n / p, cost);
}

Estimate ring_reduce_scatter(double p, double n, const FlatCost& cost) { return half(p, n, p - 1, 1, cost); }
Estimate ring_all_gather(double p, double n, const FlatCost& cost) { return half(p, n, p - 1, 0, cost); }
Estimate ring(double p, double n, const FlatCost& cost) {
  return ring_reduce_scatter(p, n, cost) + ring_all_gather(p, n, cost);
}

/// n/p after n/p along the open ring, which is full after p - 1 steps and empty again after p - 1 more.
Estimate pipeline(double p, double n, double reduced, const FlatCost& cost) {
  const double steps = 2 * (p - 1);
  return {rounds(steps, n / p, reduced * steps, cost), steps, p * (p - 1), (p - 1) * n, one_step(p) * n};
}
Estimate ring_broadcast(double p, double n, const FlatCost& cost) { return pipeline(p, n, 0, cost); }
Estimate ring_reduce(double p, double n, const FlatCost& cost) { return pipeline(p, n, 1, cost); }

/// The root scatters; then everybody but the root, which has everything, is told the rest.
Estimate direct_broadcast(double p, double n, const FlatCost& cost) {
  Estimate estimate = star_scatter(p, n, cost) + direct_all_gather(p, n, cost);
  estimate.messages -= p - 1;
  estimate.bytes -= (p - 1) / p * n;
  return estimate;
}
Estimate direct_reduce(double p, double n, const FlatCost& cost) {
  return direct_reduce_scatter(p, n, cost) + star_gather(p, n, cost);
}

/// The whole buffer down a binomial tree: the root sends one message a level.
Estimate tree_broadcast(double p, double n, const FlatCost& cost) {
  const double h = levels(p);
  return {rounds(h, n, 0, cost), h, p - 1, (p - 1) * n, h * n};
}
/// Up the same tree: the root hears from one rank a level, the others send once.
Estimate tree_reduce(double p, double n, const FlatCost& cost) {
  const double h = levels(p);
  return {rounds(h, n, h, cost), h, p - 1, (p - 1) * n, one_step(p) * n};
}
Estimate tree(double p, double n, const FlatCost& cost) {
  const double h = levels(p);
  return {rounds(h, n, 0, cost) + rounds(h, n, h, cost), 2 * h, 2 * (p - 1), 2 * (p - 1) * n, h * n};
}

/// Half of the buffer up and down each of two in-order trees of height h. A rank has its two children's halves in one
/// step, so a level costs it two messages; only the root of a tree that is not full has its children after one
/// another, since the right one's tree is not so high (going down) or was ready before (going up).
struct TwoTrees {
  explicit TwoTrees(double p)
      : h(std::floor(std::log2(p) + 1e-9)),
        up(2 * h - (p > 2 && p >= 2 * std::exp2(h) - 2 ? 0 : 1)),
        down(2 * h - (p >= 1.5 * std::exp2(h) ? 0 : 1)) {}
  double h;
  double up;  ///< messages after one another
  double down;
};
Estimate double_tree(double p, double n, const FlatCost& cost) {
  if (p < 2) return {};
  const TwoTrees trees(p);
  const double most_sent = p < 4 ? p / 2 * n : 2 * n;
  return {rounds(trees.up + trees.down, n / 2, trees.up, cost), 2 * trees.h, 4 * (p - 1), 2 * (p - 1) * n, most_sent};
}
/// The root stands above both trees, over the others: one level more. To one other go both halves as one message.
template <double TwoTrees::*way>
Estimate two_trees_below(double p, double n, double reduced, const FlatCost& cost) {
  if (p < 3) return with_everybody(p, n, reduced, one_step(p) * n, cost);
  const TwoTrees trees(p - 1);
  const double messages = 2 + trees.*way;
  return {rounds(messages, n / 2, reduced * messages, cost), trees.h + 1, 2 * (p - 1), (p - 1) * n, n};
}
Estimate double_tree_broadcast(double p, double n, const FlatCost& cost) {
  return two_trees_below<&TwoTrees::down>(p, n, 0, cost);
}
Estimate double_tree_reduce(double p, double n, const FlatCost& cost) {
  return two_trees_below<&TwoTrees::up>(p, n, 1, cost);
}

/// ceil(log2 p) rounds at the least volume, whatever the number of ranks.
Estimate log_half(double p, double n, double reduced, const FlatCost& cost) {
  const double h = levels(p);
  const double moved = (p - 1) / p * n;
  return {h * cost.alpha_s + moved * (cost.beta_s + reduced * cost.gamma_s), h, p * h, (p - 1) * n, moved};
}
Estimate log_reduce_scatter(double p, double n, const FlatCost& cost) { return log_half(p, n, 1, cost); }
Estimate log_all_gather(double p, double n, const FlatCost& cost) { return log_half(p, n, 0, cost); }

Estimate log_both(double p, double n, const FlatCost& cost) {
  return log_reduce_scatter(p, n, cost) + log_all_gather(p, n, cost);
}

/// How far n/p of each rank has to go in a binomial tree, in links of all: a rank is as deep as its number has ones.
double depths(double p) {
  double sum = 0;
  for (double bit = 1; bit < p; bit *= 2) {
    const double periods = std::floor(p / (2 * bit));
    sum += periods * bit + std::max(0.0, p - periods * 2 * bit - bit);
  }
  return sum;
}
/// A binomial tree in which a link carries what all ranks below it are sent: halves, quarters and so on from the root,
/// where all of it starts.
Estimate tree_scatter(double p, double n, const FlatCost& cost) {
  Estimate estimate = log_all_gather(p, n, cost);
  estimate.messages = p - 1;
  estimate.bytes = depths(p) * n / p;
  return estimate;
}
/// The same backwards. The most is sent by the rank with the most below it.
Estimate tree_gather(double p, double n, const FlatCost& cost) {
  Estimate estimate = tree_scatter(p, n, cost);
  const double span = std::exp2(levels(p) - 1);
  estimate.most_sent_bytes = one_step(p) * std::max(p - span, span / 2) * n / p;
  return estimate;
}

/// After the root's scatter; it needs to hear from nobody.
Estimate circulant_broadcast(double p, double n, const FlatCost& cost) {
  Estimate estimate = star_scatter(p, n, cost) + log_all_gather(p, n, cost);
  estimate.messages -= levels(p);
  estimate.bytes -= (p - 1) / p * n;
  return estimate;
}

/// Two rings, half of each chunk each way: on a network with one port a rank both messages of a step share it.
Estimate both_ways(double p, double n, double reduced, const FlatCost& cost) {
  Estimate estimate = half(p, n, p - 1, reduced, cost);
  if (p <= 2) return estimate;  // both ways lead to the same neighbour
  estimate.seconds += (p - 1) * cost.alpha_s;
  estimate.messages *= 2;
  return estimate;
}
Estimate bidirectional_reduce_scatter(double p, double n, const FlatCost& cost) { return both_ways(p, n, 1, cost); }
Estimate bidirectional_all_gather(double p, double n, const FlatCost& cost) { return both_ways(p, n, 0, cost); }
Estimate bidirectional_ring(double p, double n, const FlatCost& cost) {
  return bidirectional_reduce_scatter(p, n, cost) + bidirectional_all_gather(p, n, cost);
}

/// The largest power of two of the ranks exchanges; the others hand in first, and are handed the result.
struct Core {
  explicit Core(double p) : size(std::exp2(std::floor(std::log2(p) + 1e-9))), behind(p - size) {}
  double size;
  double behind;
  double levels() const { return std::log2(size); }

  Estimate with_others(Estimate core, double n, const FlatCost& cost) const {
    if (behind < 0.5) return core;
    return core + Estimate{rounds(2, n, 1, cost), 2, 2 * behind, 2 * behind * n, n};
  }
};

Estimate recursive_doubling(double p, double n, const FlatCost& cost) {
  const Core core(p);
  const double h = core.levels();
  return core.with_others({rounds(h, n, h, cost), h, core.size * h, core.size * h * n, h * n}, n, cost);
}

Estimate halving_doubling(double p, double n, const FlatCost& cost) {
  const Core core(p);
  return core.with_others(log_both(core.size, n, cost), n, cost);
}

/// The blocks of n/p that go from (or to) rank 0, which has the most to do, while these exchange them: in a step in
/// which they are e of a power of two, also those of who stands behind the e.
template <class Behind>
double blocks_exchanged(const Core& core, const Behind& behind) {
  double blocks = 0;
  for (double e = 1; e < core.size; e *= 2) blocks += e + behind(e);
  return blocks;
}

/// The ranks behind hand in theirs before, and are told the others' after.
Estimate gathered(const Core& core, double blocks, double p, double n, const FlatCost& cost) {
  const double h = core.levels();
  const double others = core.behind < 0.5 ? 0 : 1;  // steps before, and after
  const double moved = (blocks + others * (p - 1)) * n / p;
  return {(h + 2 * others) * cost.alpha_s + (moved + others * n / p) * cost.beta_s, h + 2 * others,
          core.size * h + 2 * core.behind, (core.size - 1 + core.behind) * n, moved};
}

/// Who is near is asked first, and who has somebody behind it is among the first ranks.
Estimate recursive_doubling_all_gather(double p, double n, const FlatCost& cost) {
  const Core core(p);
  return gathered(core, blocks_exchanged(core, [&](double e) { return std::min(e, core.behind); }), p, n, cost);
}

/// Who is far is asked first: of e ranks at equal distances their share.
double halving_blocks(const Core& core) {
  return blocks_exchanged(core, [&](double e) { return std::ceil(e * core.behind / core.size); });
}
/// Of e ranks two of each period; of a last one that is cut short, two if it holds them both: they are a third of it
/// apart.
double swing_blocks(const Core& core) {
  return blocks_exchanged(core, [&](double e) {
    if (e < 2) return std::min(core.behind, 1.0);
    const double period = 2 * core.size / e;
    const double whole = std::floor(core.behind / period);
    const double rest = core.behind - whole * period;
    return 2 * whole + (rest > period / 3 + 1 ? 2 : std::min(rest, 1.0));
  });
}
using Blocks = double (*)(const Core& core);

template <Blocks blocks>
Estimate halving_all_gather(double p, double n, const FlatCost& cost) {
  const Core core(p);
  return gathered(core, blocks(core), p, n, cost);
}
/// The same backwards, except that the ranks behind hand in whole buffers.
template <Blocks blocks>
Estimate halving_reduce_scatter(double p, double n, const FlatCost& cost) {
  const Core core(p);
  const double h = core.levels();
  const double moved = blocks(core) * n / p;
  const Estimate among{h * cost.alpha_s + moved * (cost.beta_s + cost.gamma_s), h, core.size * h, (core.size - 1) * n,
                       (p - 1) / p * n};
  if (core.behind < 0.5) return among;
  Estimate estimate = among + Estimate{rounds(1, n, 1, cost) + rounds(1, n / p, 0, cost), 2, 2 * core.behind,
                                       core.behind * (n + n / p), 0};
  estimate.most_sent_bytes = n;
  return estimate;
}

/// The all_reduce of nothing.
template <Estimate (*all_reduce)(double, double, const FlatCost&)>
Estimate barrier(double p, double, const FlatCost& cost) {
  return all_reduce(p, 0, cost);
}

/// One message a rank and round, of nothing.
Estimate dissemination(double p, double, const FlatCost& cost) {
  const double h = levels(p);
  return {h * cost.alpha_s, h, p * h, 0, 0};
}

constexpr std::string_view kOneShot = "no paper's; one-shot all-reduce in DeepSpeed and vLLM";
constexpr std::string_view kLi = "Li et al., OSDI 2014; the linear algorithms of MPI's libraries";
constexpr std::string_view kThakur = "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005";
constexpr std::string_view kChan = "Chan, Heimlich, Purkayastha, van de Geijn, CCPE 19(13), 2007";
constexpr std::string_view kVanDeGeijn = "van de Geijn's, in Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005";
constexpr std::string_view kTraeff = "Traeff, arXiv:2410.14234, 2024";
constexpr std::string_view kRabenseifner = "Rabenseifner, ICCS 2004, LNCS 3036";
constexpr std::string_view kDeSensi = "De Sensi, Bonato, Saam, Hoefler, NSDI 2024";
constexpr std::string_view kJain = "Jain, Sabharwal, ICS 2010, on one port";
constexpr std::string_view kPipelined = "Patarasuk, Faraj, Yuan, JPDC 68(6), 2008";
constexpr std::string_view kPatarasuk = "Patarasuk, Yuan, JPDC 69(2), 2009";
constexpr std::string_view kSanders = "Sanders, Speck, Traeff, Parallel Computing 35(12), 2009, in one segment";
constexpr std::string_view kBruck = "Bruck et al., IEEE TPDS 8(11), 1997";
constexpr std::string_view kHensgen = "Hensgen, Finkel, Manber, IJPP 17(1), 1988";

constexpr std::string_view kExchangeHalf = "(p-1)(alpha + n/p beta)";
constexpr std::string_view kExchangeReduced = "(p-1)(alpha + n/p beta + n/p gamma)";
constexpr std::string_view kRootAndAll = "2(p-1)(alpha + n/p beta)";
constexpr std::string_view kExchangeBoth = "2(p-1)(alpha + n/p beta) + (p-1)/p n gamma";

constexpr std::string_view kHalvedAndDoubled =
    "2H alpha + 2(q-1)/q n beta + (q-1)/q n gamma, H = floor(log2 p), q = 2^H; unless p = q, 2 alpha + 2 n beta + n "
    "gamma more";
constexpr std::string_view kHalved =
    "H alpha + (p-1)/p n (beta + gamma), H = floor(log2 p), q = 2^H; unless p = q, 2 alpha + (1 + 1/p) n beta + n "
    "gamma more, and up to q/p n (beta + gamma) on top of that";
constexpr std::string_view kHalvedSteps = "2H alpha, H = floor(log2 p); unless p = 2^H, 2 alpha more";
constexpr std::string_view kDoubled =
    "H alpha + (p-1)/p n beta, H = floor(log2 p), q = 2^H; unless p = q, 2 alpha + n beta more, and up to q/p n beta "
    "on top of that";

std::vector<ClosedForm> with_loads(std::vector<ClosedForm> forms) {
  for (ClosedForm& form : forms) form.loads = find_load_form(form.algorithm, form.collective);
  return forms;
}

/// Of what moves buffers.
std::vector<ClosedForm> of_buffers() {
  return {
      {"naive", Collective::kAllReduce, "(p-1)(alpha + n beta + n gamma)", kOneShot, naive},
      {"star", Collective::kAllReduce, "2(p-1)(alpha + n beta) + (p-1) n gamma", kLi, star},
      {"direct", Collective::kAllReduce, kExchangeBoth, kThakur, direct},
      {"star", Collective::kBroadcast, "(p-1)(alpha + n beta)", kLi, star_broadcast},
      {"star", Collective::kReduce, "(p-1)(alpha + n beta + n gamma)", kLi, star_reduce},
      {"star", Collective::kScatter, kExchangeHalf, kLi, star_scatter},
      {"star", Collective::kGather, kExchangeHalf, kLi, star_gather},
      {"direct", Collective::kAllToAll, kExchangeHalf, kThakur, direct_all_gather},
      {"pairwise", Collective::kAllToAll, kExchangeHalf, kThakur, ring_all_gather},
      {"direct", Collective::kReduceScatter, kExchangeReduced, kThakur, direct_reduce_scatter},
      {"direct", Collective::kAllGather, kExchangeHalf, kThakur, direct_all_gather},
      {"ring", Collective::kAllReduce, kExchangeBoth, kPatarasuk, ring},
      {"ring", Collective::kReduceScatter, kExchangeReduced, kPatarasuk, ring_reduce_scatter},
      {"ring", Collective::kAllGather, kExchangeHalf, kPatarasuk, ring_all_gather},
      {"tree", Collective::kAllReduce, "2h(alpha + n beta) + h n gamma", kThakur, tree},
      {"tree", Collective::kBroadcast, "h(alpha + n beta)", kThakur, tree_broadcast},
      {"tree", Collective::kReduce, "h(alpha + n beta + n gamma)", kThakur, tree_reduce},
      {"tree", Collective::kScatter, "h alpha + (p-1)/p n beta", kChan, tree_scatter},
      {"tree", Collective::kGather, "h alpha + (p-1)/p n beta", kChan, tree_gather},
      {"tree", Collective::kReduceScatter, "h alpha + (p-1)/p n (beta + gamma)", kBruck, log_reduce_scatter},
      {"tree", Collective::kAllGather, "h alpha + (p-1)/p n beta", kBruck, log_all_gather},
      {"bidirectional_ring", Collective::kAllReduce, "2(p-1)(w alpha + n/p beta) + (p-1)/p n gamma, w = min(2, p-1)",
       kJain, bidirectional_ring},
      {"recursive_doubling", Collective::kAllReduce,
       "H(alpha + n beta + n gamma), H = floor(log2 p); unless p = 2^H, 2 alpha + 2 n beta + n gamma more", kThakur,
       recursive_doubling},
      {"halving_doubling", Collective::kAllReduce, kHalvedAndDoubled, kRabenseifner, halving_doubling},
      {"swing", Collective::kAllReduce, kHalvedAndDoubled, kDeSensi, halving_doubling},
      {"double_tree", Collective::kAllReduce,
       "2(2H-1)(alpha + n/2 beta) + (2H-1) n/2 gamma, H = floor(log2 p); unless p = 2^H, up to 2 alpha + n beta + n/2 "
       "gamma more",
       kSanders, double_tree},
      {"double_tree", Collective::kBroadcast,
       "(2H-2+w) alpha + H n beta, w = min(2, p-1), H = floor(log2 p); unless p = 2^H, up to 2 alpha + n beta more",
       kSanders, double_tree_broadcast},
      {"double_tree", Collective::kReduce,
       "(2H-2+w) alpha + H n (beta + gamma), w = min(2, p-1), H = floor(log2 p); unless p = 2^H, up to 2 alpha + n "
       "beta + n gamma more",
       kSanders, double_tree_reduce},
      {"circulant", Collective::kAllReduce, "2h alpha + 2(p-1)/p n beta + (p-1)/p n gamma", kTraeff, log_both},
      {"circulant", Collective::kReduceScatter, "h alpha + (p-1)/p n (beta + gamma)", kTraeff, log_reduce_scatter},
      {"circulant", Collective::kAllGather, "h alpha + (p-1)/p n beta", kTraeff, log_all_gather},
      {"direct", Collective::kBroadcast, kRootAndAll, kThakur, direct_broadcast},
      {"direct", Collective::kReduce, kExchangeBoth, kThakur, direct_reduce},
      {"ring", Collective::kBroadcast, kRootAndAll, kPipelined, ring_broadcast},
      {"ring", Collective::kReduce, "2(p-1)(alpha + n/p beta + n/p gamma)", kPipelined, ring_reduce},
      {"circulant", Collective::kBroadcast, "(p-1+h) alpha + 2(p-1)/p n beta", kVanDeGeijn, circulant_broadcast},
      {"bidirectional_ring", Collective::kReduceScatter, "(p-1)(w alpha + n/p beta + n/p gamma), w = min(2, p-1)",
       kJain, bidirectional_reduce_scatter},
      {"bidirectional_ring", Collective::kAllGather, "(p-1)(w alpha + n/p beta), w = min(2, p-1)", kJain,
       bidirectional_all_gather},
      {"recursive_doubling", Collective::kAllGather, kDoubled, kThakur, recursive_doubling_all_gather},
      {"halving_doubling", Collective::kAllGather, kDoubled, kRabenseifner, halving_all_gather<halving_blocks>},
      {"halving_doubling", Collective::kReduceScatter, kHalved, kRabenseifner, halving_reduce_scatter<halving_blocks>},
      {"swing", Collective::kAllGather, kDoubled, kDeSensi, halving_all_gather<swing_blocks>},
      {"swing", Collective::kReduceScatter, kHalved, kDeSensi, halving_reduce_scatter<swing_blocks>},
  };
}

std::vector<ClosedForm> of_barriers() {
  return {
      {"naive", Collective::kBarrier, "(p-1) alpha", kOneShot, barrier<naive>},
      {"star", Collective::kBarrier, "2(p-1) alpha", kLi, barrier<star>},
      {"direct", Collective::kBarrier, "2(p-1) alpha", kThakur, barrier<direct>},
      {"ring", Collective::kBarrier, "2(p-1) alpha", kPatarasuk, barrier<ring>},
      {"bidirectional_ring", Collective::kBarrier, "2(p-1) w alpha, w = min(2, p-1)", kJain,
       barrier<bidirectional_ring>},
      {"tree", Collective::kBarrier, "2h alpha", kThakur, barrier<tree>},
      {"double_tree", Collective::kBarrier, "2(2H-1) alpha, H = floor(log2 p); unless p = 2^H, up to 2 alpha more",
       kSanders, barrier<double_tree>},
      {"recursive_doubling", Collective::kBarrier, "H alpha, H = floor(log2 p); unless p = 2^H, 2 alpha more", kThakur,
       barrier<recursive_doubling>},
      {"halving_doubling", Collective::kBarrier, kHalvedSteps, kRabenseifner, barrier<halving_doubling>},
      {"swing", Collective::kBarrier, kHalvedSteps, kDeSensi, barrier<halving_doubling>},
      {"circulant", Collective::kBarrier, "2h alpha", kTraeff, barrier<log_both>},
      {"dissemination", Collective::kBarrier, "h alpha", kHensgen, dissemination},
  };
}

}  // namespace

const std::vector<ClosedForm>& closed_forms() {
  static const std::vector<ClosedForm> kAll = [] {
    std::vector<ClosedForm> all = of_buffers();
    const std::vector<ClosedForm> barriers = of_barriers();
    all.insert(all.end(), barriers.begin(), barriers.end());
    return with_loads(std::move(all));
  }();
  return kAll;
}

const ClosedForm* find_closed_form(std::string_view algorithm, Collective collective) {
  for (const ClosedForm& form : closed_forms()) {
    if (form.algorithm == algorithm && form.collective == collective) return &form;
  }
  return nullptr;
}

}  // namespace lockstep
