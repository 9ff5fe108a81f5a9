#include "tests/conformance/trial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <ostream>
#include <sstream>
#include <stdexcept>

namespace lockstep::conformance {

namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr unsigned char kGuard = 0xa5;
/// Buffers begin at an element's alignment and no better.
constexpr std::size_t kMostShift = 3;

constexpr auto kAnything = Facts::kAnything;
constexpr auto kReduced = Facts::kReduced;

int reduced(int, int, int) { return kReduced; }
int reduced_if_own(int rank, int, int block) { return block == rank ? kReduced : kAnything; }
int reduced_at_root(int rank, int root, int) { return rank == root ? kReduced : kAnything; }
int owner(int, int, int block) { return block; }
int owner_at_root(int rank, int root, int block) { return rank == root ? block : kAnything; }
int root_of_all(int, int root, int) { return root; }
int root_if_own(int rank, int root, int block) { return block == rank ? root : kAnything; }
int anything(int, int, int) { return kAnything; }

using Choices = const OperationOptions&;

std::vector<Facts> make_facts() {
  return {
      {Collective::kAllReduce, false, false, reduced,
       [](const Group& group, const Case& one, const void*, Buffer buffer, Choices choices) {
         return group.all_reduce(buffer, one.op, choices);
       }},
      {Collective::kReduceScatter, true, true, reduced_if_own,
       [](const Group& group, const Case& one, const void*, Buffer buffer, Choices choices) {
         return one.by_counts ? group.reduce_scatter_v(buffer, one.blocks, one.op, choices)
                              : group.reduce_scatter(buffer, one.op, choices);
       }},
      {Collective::kAllGather, true, true, owner,
       [](const Group& group, const Case& one, const void*, Buffer buffer, Choices choices) {
         return one.by_counts ? group.all_gather_v(buffer, one.blocks, choices) : group.all_gather(buffer, choices);
       }},
      {Collective::kBroadcast, false, false, root_of_all,
       [](const Group& group, const Case& one, const void*, Buffer buffer, Choices choices) {
         return group.broadcast(buffer, one.root, choices);
       }},
      {Collective::kReduce, false, false, reduced_at_root,
       [](const Group& group, const Case& one, const void*, Buffer buffer, Choices choices) {
         return group.reduce(buffer, one.root, one.op, choices);
       }},
      {Collective::kGather, true, true, owner_at_root,
       [](const Group& group, const Case& one, const void*, Buffer buffer, Choices choices) {
         return one.by_counts ? group.gather_v(buffer, one.blocks, one.root, choices)
                              : group.gather(buffer, one.root, choices);
       }},
      {Collective::kScatter, true, true, root_if_own,
       [](const Group& group, const Case& one, const void*, Buffer buffer, Choices choices) {
         return one.by_counts ? group.scatter_v(buffer, one.blocks, one.root, choices)
                              : group.scatter(buffer, one.root, choices);
       }},
      {Collective::kAllToAll, true, false, owner,
       [](const Group& group, const Case&, const void* input, Buffer buffer, Choices choices) {
         return group.all_to_all(input, buffer, choices);
       }},
      {Collective::kBarrier, false, false, anything,
       [](const Group& group, const Case&, const void*, Buffer, Choices choices) { return group.barrier(choices); }},
  };
}

std::size_t bytes_of_buffer(const Case& one) {
  const std::size_t bytes = 2 * kGuardBytes + (kMostShift + one.count()) * size_of(one.dtype);
  return (bytes + kGuardBytes - 1) / kGuardBytes * kGuardBytes;
}

}  // namespace

std::size_t Case::count() const { return std::accumulate(blocks.begin(), blocks.end(), std::size_t{0}); }

std::ostream& operator<<(std::ostream& out, const Case& one) {
  out << to_string(one.collective) << " by " << one.algorithm << " of " << to_string(one.dtype);
  if (facts_of(one.collective).sums()) out << " " << to_string(one.op);
  out << " root " << one.root << (one.by_counts ? " counts" : "") << " blocks of";
  for (const std::size_t block : one.blocks) out << " " << block;
  return out << (one.registered ? " registered" : " plain")
             << (one.reduction == Reduction::kCanonical ? " canonical" : "");
}

const std::vector<Facts>& all_facts() {
  static const std::vector<Facts> kAll = make_facts();
  return kAll;
}

const Facts& facts_of(Collective collective) {
  return *std::find_if(all_facts().begin(), all_facts().end(),
                       [&](const Facts& facts) { return facts.collective == collective; });
}

std::size_t Trial::bytes_for(const Case& one) { return 2 * bytes_of_buffer(one); }

Trial::Trial(const Group& group, const Inputs& inputs, const Case& one, void* memory)
    : group_(group),
      inputs_(inputs),
      case_(one),
      facts_(facts_of(one.collective)),
      output_(place_buffer(static_cast<unsigned char*>(memory))),
      input_(one.collective == Collective::kAllToAll
                 ? place_buffer(static_cast<unsigned char*>(memory) + bytes_of_buffer(one))
                 : output_) {}

/// Ranks' buffers begin at different alignments.
unsigned char* Trial::place_buffer(unsigned char* from) const {
  const std::size_t shift = (case_.count() + static_cast<std::size_t>(group_.rank())) % (kMostShift + 1);
  return from + kGuardBytes + shift * size_of(case_.dtype);
}

void Trial::start() {
  const std::size_t bytes = case_.count() * size_of(case_.dtype);
  for (unsigned char* const buffer : {output_, input_}) {
    std::memset(buffer - kGuardBytes, kGuard, kGuardBytes);
    std::memset(buffer + bytes, kGuard, kGuardBytes);
  }
  std::memset(output_, kGuard, bytes);
  write(inputs_.of(group_.rank(), case_.values, case_.dtype, case_.op), size_of(case_.dtype), case_.first,
        case_.count(), input_);
  pending_ =
      facts_.start(group_, case_, input_, {output_, case_.count(), case_.dtype},
                   {.algorithm = case_.algorithm, .reduction = case_.reduction, .in_background = case_.in_background});
}

bool Trial::start_if_admitted() {
  try {
    start();
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInvalidArgument) return false;
    throw;
  }
}

void Trial::finish() {
  pending_.wait();
  std::size_t begin = 0;
  for (std::size_t block = 0; block < case_.blocks.size(); ++block) {
    check_block(static_cast<int>(block), begin, case_.blocks[block]);
    begin += case_.blocks[block];
  }
  check_guards(output_, "buffer");
  if (input_ == output_) return;
  check_guards(input_, "input");
  const Bytes& own = inputs_.of(group_.rank(), case_.values, case_.dtype, case_.op);
  const std::size_t wrong = first_difference(own, size_of(case_.dtype), case_.first, case_.count(), input_);
  if (wrong < case_.count()) fail(fmt::format("element {} of its input was written to", wrong));
}

/// Whether the bits of a sum are.
bool Trial::is_promised() const { return case_.values == Values::kExact || case_.reduction == Reduction::kCanonical; }

void Trial::check_block(int block, std::size_t begin, std::size_t count) const {
  const int source = facts_.source(group_.rank(), case_.root, block);
  if (source == kAnything || (source == kReduced && !is_promised())) return;
  const Bytes& want = source == kReduced ? inputs_.reduced(case_.values, case_.dtype, case_.op)
                                         : inputs_.of(source, case_.values, case_.dtype, case_.op);
  // In an all_to_all what came from there lay there at our place.
  const auto rank = static_cast<std::size_t>(group_.rank());
  const std::size_t lay_at = case_.first + (case_.collective == Collective::kAllToAll ? rank * count : begin);
  const std::size_t size = size_of(case_.dtype);
  const std::size_t wrong = first_difference(want, size, lay_at, count, output_ + begin * size);
  if (wrong == count) return;
  Bytes wanted(size);
  write(want, size, lay_at + wrong, 1, wanted.data());
  const unsigned char* const got = output_ + (begin + wrong) * size;
  fail(fmt::format("element {} holds the bytes {:02x}, which should be {:02x}", begin + wrong,
                   fmt::join(got, got + size, " "), fmt::join(wanted, " ")));
}

void Trial::check_guards(const unsigned char* buffer, const char* which) const {
  const unsigned char* const end = buffer + case_.count() * size_of(case_.dtype);
  const auto touched = [](const unsigned char* guard) {
    return std::any_of(guard, guard + kGuardBytes, [](unsigned char byte) { return byte != kGuard; });
  };
  if (touched(buffer - kGuardBytes)) fail(fmt::format("something was written before the {}", which));
  if (touched(end)) fail(fmt::format("something was written behind the {}", which));
}

void Trial::fail(const std::string& why) const {
  std::ostringstream text;
  text << case_ << ": " << why;
  throw std::runtime_error(text.str());
}

std::uint64_t Trial::digest() const {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (std::size_t i = 0; i < case_.count() * size_of(case_.dtype); ++i) hash = (hash ^ output_[i]) * 0x100000001b3;
  return hash;
}

}  // namespace lockstep::conformance
