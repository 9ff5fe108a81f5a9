#include "tests/conformance/cases.h"

#include "algorithms/catalog.h"
#include "algorithms/every_request_for_tests.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace lockstep::conformance {

namespace {

constexpr std::size_t kPrime = 97;
constexpr std::size_t kPageBytes = 4096;
/// Of the whole buffer: more than staging takes at once, and than a receive buffer holds, and no multiple of either.
constexpr std::size_t kSeveralSegmentsBytes = (std::size_t{1} << 20) + (std::size_t{1} << 17) + 200;

struct Shape {
  std::vector<std::size_t> blocks;
  bool by_counts;
};

std::vector<Shape> small_shapes(const Facts& facts, int ranks, DataType dtype) {
  const std::size_t page = kPageBytes / size_of(dtype);
  std::vector<Shape> shapes;
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, kPrime, page - 1, page, page + 1}) {
    shapes.push_back({even_blocks(facts, ranks, count), false});
  }
  if (facts.takes_counts) {
    shapes.push_back({uneven_blocks(ranks, kPrime), true});
    shapes.push_back({uneven_blocks(ranks, page + 1), true});
  }
  return shapes;
}

Shape large_shape(const Facts& facts, int ranks, DataType dtype, bool by_counts) {
  const std::size_t count = kSeveralSegmentsBytes / size_of(dtype);
  if (by_counts) return {uneven_blocks(ranks, 2 * count / static_cast<std::size_t>(ranks)), true};
  return {even_blocks(facts, ranks, facts.in_blocks ? count / static_cast<std::size_t>(ranks) : count), false};
}

/// What a collective that sums nothing is not asked twice for.
std::vector<ReduceOp> operators_for(const Facts& facts) {
  if (!facts.sums()) return {ReduceOp::kSum};
  return {kReduceOps.begin(), kReduceOps.end()};
}

Values values_for(const Facts& facts) { return facts.sums() ? Values::kExact : Values::kAnyBits; }

/// Rounded sums and any bits in turn, in step with none of the loops that made the cases.
void round_or_take_any_bits(std::vector<Case>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].values = i % 5 < 2 ? Values::kOrder : Values::kAnyBits;
}

/// Those of floats; the least and the greatest, which show none, give way to sums.
std::vector<Case> large_cases_that_show_order(const Facts& facts, int ranks, bool has_registered) {
  std::vector<Case> cases = large_cases(facts, ranks, has_registered);
  std::erase_if(cases, [](const Case& one) { return !is_floating(one.dtype); });
  for (Case& one : cases) {
    if (!shows_order(one)) one.op = ReduceOp::kSum;
  }
  return cases;
}

}  // namespace

std::vector<std::string> names_for(Collective collective) {
  std::vector<std::string> names;
  for (const std::string& name : names_of_algorithms()) {
    if (find_algorithm(name).supports(collective)) names.push_back(name);
  }
  return names;
}

bool shows_order(const Case& one) {
  return is_floating(one.dtype) && one.op != ReduceOp::kMin && one.op != ReduceOp::kMax;
}

std::vector<std::size_t> even_blocks(const Facts& facts, int ranks, std::size_t count) {
  return std::vector<std::size_t>(facts.in_blocks ? static_cast<std::size_t>(ranks) : 1, count);
}

std::vector<std::size_t> uneven_blocks(int ranks, std::size_t count) {
  const std::array sizes{count, std::size_t{0}, count / 2, std::size_t{1}};
  std::vector<std::size_t> blocks;
  blocks.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) blocks.push_back(sizes[static_cast<std::size_t>(rank) % sizes.size()]);
  return blocks;
}

std::vector<Case> small_cases(const Facts& facts, int ranks, bool has_registered) {
  std::vector<Case> cases;
  for (const std::string& algorithm : names_for(facts.collective)) {
    for (const DataType dtype : kDataTypes) {
      for (const ReduceOp op : operators_for(facts)) {
        for (const Shape& shape : small_shapes(facts, ranks, dtype)) {
          for (const bool registered : {false, true}) {
            if (registered && !has_registered) continue;
            cases.push_back({.collective = facts.collective,
                             .algorithm = algorithm,
                             .dtype = dtype,
                             .op = op,
                             .root = static_cast<int>(cases.size()) % ranks,
                             .blocks = shape.blocks,
                             .by_counts = shape.by_counts,
                             .registered = registered,
                             .values = values_for(facts)});
          }
        }
      }
    }
  }
  return cases;
}

std::vector<Case> large_cases(const Facts& facts, int ranks, bool has_registered) {
  std::vector<Case> cases;
  const std::vector<ReduceOp> operators = operators_for(facts);
  const auto start =
      static_cast<std::size_t>(std::min(ranks, 6));  // 2, 3, 4, 5 and 8 ranks begin with another operator
  std::size_t nth_algorithm = 0;
  for (const std::string& algorithm : names_for(facts.collective)) {
    for (const bool registered : {false, true}) {
      if (registered && !has_registered) continue;
      for (std::size_t i = 0; i < kDataTypes.size(); ++i) {
        const std::size_t number = start + nth_algorithm + i + (registered ? 2 : 0);
        const bool by_counts = facts.takes_counts && (number + (registered ? 1 : 0)) % 2 == 1;
        const Shape shape = large_shape(facts, ranks, kDataTypes[i], by_counts);
        cases.push_back({.collective = facts.collective,
                         .algorithm = algorithm,
                         .dtype = kDataTypes[i],
                         .op = operators[number % operators.size()],
                         .root = static_cast<int>(cases.size()) % ranks,
                         .blocks = shape.blocks,
                         .by_counts = shape.by_counts,
                         .registered = registered,
                         .values = values_for(facts)});
      }
    }
    ++nth_algorithm;
  }
  return cases;
}

std::vector<Case> repeated_cases(const Facts& facts, int ranks) {
  constexpr std::size_t kTimes = 5;
  std::vector<Case> cases;
  for (const std::string& algorithm : names_for(facts.collective)) {
    for (const bool by_counts : {false, true}) {
      if (by_counts && !facts.takes_counts) continue;
      const Shape shape = large_shape(facts, ranks, DataType::kInt32, by_counts);
      const std::size_t page = kPageBytes / size_of(DataType::kInt32);
      for (const auto& blocks : {even_blocks(facts, ranks, page + 1), shape.blocks}) {
        const int root = static_cast<int>(cases.size()) % ranks;
        for (std::size_t time = 0; time < kTimes; ++time) {
          cases.push_back({.collective = facts.collective,
                           .algorithm = algorithm,
                           .dtype = DataType::kInt32,
                           .root = root,
                           .blocks = blocks,
                           .first = kPrime * time,
                           .by_counts = by_counts,
                           .values = values_for(facts)});
        }
      }
    }
  }
  return cases;
}

std::vector<Case> all_cases(const Facts& facts, int ranks, bool has_registered) {
  std::vector<Case> cases = small_cases(facts, ranks, has_registered);
  const std::vector<Case> large = large_cases(facts, ranks, has_registered);
  cases.insert(cases.end(), large.begin(), large.end());
  return cases;
}

std::vector<Case> rounding_cases(int ranks, bool has_registered) {
  const Facts& facts = facts_of(Collective::kAllReduce);
  std::vector<Case> cases = small_cases(facts, ranks, has_registered);
  std::erase_if(cases, [](const Case& one) { return !shows_order(one); });
  for (Case& one : large_cases_that_show_order(facts, ranks, has_registered)) {
    if (one.dtype == DataType::kFloat32 || one.dtype == DataType::kBFloat16) cases.push_back(std::move(one));
  }
  round_or_take_any_bits(cases);
  return cases;
}

std::vector<Case> canonical_cases(int ranks, bool has_registered) {
  std::vector<Case> cases;
  for (const Collective collective : kSummingCollectives) {
    const Facts& facts = facts_of(collective);
    std::vector<Case> small = small_cases(facts, ranks, has_registered);
    std::erase_if(small, [](const Case& one) { return !shows_order(one); });
    std::move(small.begin(), small.end(), std::back_inserter(cases));
    std::vector<Case> large = large_cases_that_show_order(facts, ranks, has_registered);
    std::move(large.begin(), large.end(), std::back_inserter(cases));
  }
  for (Case& one : cases) one.reduction = Reduction::kCanonical;
  round_or_take_any_bits(cases);
  return cases;
}

}  // namespace lockstep::conformance
