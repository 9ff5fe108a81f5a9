#include "tests/conformance/inputs.h"

#include "bench/exact.h"
#include "kernels/operands_for_tests.h"
#include "kernels/reduce.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace lockstep::conformance {

namespace {

/// A small number whose sums and products over eight ranks every floating type holds exactly.
int small_number(ReduceOp op, std::mt19937_64& random) {
  const auto drawn = static_cast<int>(random() % 16);
  if (op == ReduceOp::kProduct) return (drawn % 2 == 0 ? 1 : -1) * (drawn < 8 ? 1 : 2);
  return drawn - 8;
}

/// Two numbers of which the small one is lost beside the large one: in the type, and in float32 where that is summed
/// in.
struct FarApart {
  bench::Exact large;
  bench::Exact small = bench::Exact(1);
};

FarApart far_apart(DataType dtype) {
  FarApart numbers{.large = bench::Exact(100'000'000)};
  if (dtype == DataType::kBFloat16) numbers.large = bench::Exact(1 << 27);
  if (dtype == DataType::kFloat64) (numbers.large = bench::Exact(1 << 30)) *= 1 << 30;
  if (dtype == DataType::kFloat16) {  // two of the large ones are still a number
    numbers.large = bench::Exact(1 << 14);
    numbers.small.real = 0x1p-11;
  }
  return numbers;
}

Bytes encoded(const std::vector<bench::Exact>& numbers, DataType dtype) {
  Bytes bytes(numbers.size() * size_of(dtype));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    bench::encode(numbers[i], dtype, bytes.data() + i * size_of(dtype));
  }
  return bytes;
}

/// Element i of all ranks is the i-th permutation of the four numbers, over and over.
Bytes permutations(int rank, DataType dtype) {
  const auto [large, small] = far_apart(dtype);
  bench::Exact minus_large = large;
  minus_large *= -1;
  std::array<int, 4> order{0, 1, 2, 3};
  const std::array values{large, small, minus_large, small};
  std::vector<bench::Exact> numbers;
  while (numbers.size() < Inputs::kPeriod) {
    const int place = order[static_cast<std::size_t>(rank % 4)];
    numbers.push_back(values[static_cast<std::size_t>(place)]);
    std::next_permutation(order.begin(), order.end());
  }
  return encoded(numbers, dtype);
}

Bytes exact(DataType dtype, ReduceOp op, std::mt19937_64& random) {
  // Integers wrap around, and the least and the greatest are found in any order: any bits are exact.
  if (!is_floating(dtype) || op == ReduceOp::kMin || op == ReduceOp::kMax) {
    return kernels::random_operand(dtype, Inputs::kPeriod, random);
  }
  std::vector<bench::Exact> numbers(Inputs::kPeriod);
  for (bench::Exact& number : numbers) number = bench::Exact(small_number(op, random));
  return encoded(numbers, dtype);
}

Bytes contribution(int rank, Values values, DataType dtype, ReduceOp op) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank) * 1000 + static_cast<std::uint64_t>(dtype) * 10 +
                         static_cast<std::uint64_t>(op));
  switch (values) {
    case Values::kExact: return exact(dtype, op, random);
    case Values::kOrder: return permutations(rank, dtype);
    case Values::kAnyBits: return kernels::random_operand(dtype, Inputs::kPeriod, random);
  }
  return {};
}

/// Calls f(element of the buffer, element of the period, elements) for each run that lies in one period.
template <class F>
void for_each_run(std::size_t first, std::size_t count, const F& f) {
  for (std::size_t done = 0; done < count;) {
    const std::size_t phase = (first + done) % Inputs::kPeriod;
    const std::size_t run = std::min(count - done, Inputs::kPeriod - phase);
    f(done, phase, run);
    done += run;
  }
}

}  // namespace

bool is_floating(DataType dtype) {
  return dtype == DataType::kFloat32 || dtype == DataType::kFloat64 || dtype == DataType::kBFloat16 ||
         dtype == DataType::kFloat16;
}

Inputs::Inputs(int ranks) : ranks_(ranks) {
  for (const Values values : {Values::kExact, Values::kOrder, Values::kAnyBits}) {
    for (const DataType dtype : kDataTypes) {
      for (const ReduceOp op : kReduceOps) {
        Entry& entry = entries_[{values, dtype, op}];
        for (int rank = 0; rank < ranks; ++rank) entry.contributions.push_back(contribution(rank, values, dtype, op));
        std::vector<const void*> operands;
        for (const Bytes& one : entry.contributions) operands.push_back(one.data());
        entry.reduced.resize(kPeriod * size_of(dtype));
        void* const target = entry.reduced.data();
        kernels::reduce_scalar({.targets = &target,
                                .target_count = 1,
                                .operands = operands.data(),
                                .operand_count = operands.size(),
                                .count = kPeriod,
                                .dtype = dtype,
                                .op = op,
                                .divide_by = op == ReduceOp::kMean ? ranks : 1});
      }
    }
  }
}

const Bytes& Inputs::of(int rank, Values values, DataType dtype, ReduceOp op) const {
  return entries_.at({values, dtype, op}).contributions.at(static_cast<std::size_t>(rank));
}

const Bytes& Inputs::reduced(Values values, DataType dtype, ReduceOp op) const {
  return entries_.at({values, dtype, op}).reduced;
}

void write(const Bytes& period, std::size_t element_bytes, std::size_t first, std::size_t count, void* to) {
  for_each_run(first, count, [&](std::size_t at, std::size_t phase, std::size_t run) {
    std::memcpy(static_cast<unsigned char*>(to) + at * element_bytes, period.data() + phase * element_bytes,
                run * element_bytes);
  });
}

std::size_t first_difference(const Bytes& period, std::size_t element_bytes, std::size_t first, std::size_t count,
                             const void* actual) {
  const auto* const bytes = static_cast<const unsigned char*>(actual);
  std::size_t found = count;
  for_each_run(first, count, [&](std::size_t at, std::size_t phase, std::size_t run) {
    const unsigned char* const want = period.data() + phase * element_bytes;
    const unsigned char* const got = bytes + at * element_bytes;
    if (found < count || std::memcmp(want, got, run * element_bytes) == 0) return;
    const auto offset = static_cast<std::size_t>(std::mismatch(want, want + run * element_bytes, got).first - want);
    found = at + offset / element_bytes;
  });
  return found;
}

}  // namespace lockstep::conformance
