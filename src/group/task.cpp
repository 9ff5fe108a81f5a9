#include "group/task.h"

#include "base/index.h"
#include "group/engine.h"
#include "schedule/promise.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::detail {

namespace {

/// What a rank gets from, or gives to, the ranks before `end`.
std::size_t column(const Task& task, int rank, int size, int end) {
  std::size_t sum = 0;
  for (int source = 0; source < end; ++source) sum += task.counts()[at(source * size + rank)];
  return sum;
}
std::size_t row(const Task& task, int rank, int size, int end) {
  const auto begin = task.counts().begin() + std::ptrdiff_t{rank} * size;
  return std::accumulate(begin, begin + end, std::size_t{0});
}

/// Elements that memory can hold.
std::size_t most_elements(DataType dtype) { return static_cast<std::size_t>(PTRDIFF_MAX) / size_of(dtype); }

std::string fault_of_too_many(std::string_view what, std::size_t count) {
  return fmt::format("no memory holds {} {} elements; is that a negative number?", what, count);
}

/// The first count with which the blocks have more elements than memory can hold; none if there is no such.
std::optional<std::size_t> first_too_many(const Task& task) {
  std::size_t left = most_elements(task.buffer.dtype);
  for (const std::size_t count : task.counts()) {
    if (count > left) return count;
    left -= count;
  }
  return std::nullopt;
}

/// What is wrong with the block counts; nothing if they fit.
std::string fault_of_counts(const Task& task, int rank, int size) {
  const bool pairs = task.collective == Collective::kAllToAll;
  const std::size_t expected = at(size) * (pairs ? at(size) : 1);
  if (task.counts().size() != expected) {
    return fmt::format("{} block counts were given for {}a group of {}; give it one for each {}.", task.counts().size(),
                       pairs ? "the pairs of " : "", size, pairs ? "pair" : "rank");
  }
  if (const auto count = first_too_many(task)) return fault_of_too_many("blocks with", *count);
  const std::size_t sum = pairs ? column(task, rank, size, size)
                                : std::accumulate(task.counts().begin(), task.counts().end(), std::size_t{0});
  if (sum == task.buffer.count) return "";
  return fmt::format("the blocks have {} elements in all, the buffer {}.", sum, task.buffer.count);
}

/// What is wrong with where elements begin.
std::string fault_of_address(std::string_view what, const void* data, DataType dtype) {
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) == 0) return "";
  return fmt::format("{} begins at an address that is no multiple of {}, as {} elements ask; align it.", what,
                     size_of(dtype), to_string(dtype));
}

/// What is wrong with the two buffers of an all_to_all.
std::string fault_of_buffers(const Task& task, int rank, int size) {
  const std::size_t count = task.has_pair_counts() ? row(task, rank, size, size) : task.buffer.count;
  const auto* const input = static_cast<const std::byte*>(task.input);
  const auto* const output = static_cast<const std::byte*>(task.buffer.data);
  const std::size_t bytes = count * size_of(task.buffer.dtype);
  if (input == nullptr && bytes > 0) return "the input is a null pointer.";
  if (bytes > 0) {
    if (std::string fault = fault_of_address("the input", input, task.buffer.dtype); !fault.empty()) return fault;
  }
  if (bytes > 0 && task.buffer.count > 0 && input < output + task.buffer.bytes() && output < input + bytes) {
    return "input and output overlap; give it two buffers.";
  }
  return "";
}

/// Of a number that was cast to an enumeration and is none of its values.
std::string fault_of_number(std::string_view what, int number, std::string_view enumeration) {
  return fmt::format("there is no {} of number {}; name one of {}'s.", what, number, enumeration);
}

/// What is wrong with any buffer.
std::string fault_of(const Buffer& buffer, const Engine& engine) {
  if (size_of(buffer.dtype) == 0) return fault_of_number("data type", static_cast<int>(buffer.dtype), "DataType");
  if (buffer.data == nullptr && buffer.count > 0) return "the buffer is a null pointer.";
  if (buffer.count > most_elements(buffer.dtype)) return fault_of_too_many("a buffer of", buffer.count);
  if (buffer.count > 0) {
    if (std::string fault = fault_of_address("the buffer", buffer.data, buffer.dtype); !fault.empty()) return fault;
  }
  const bool on_host = buffer.device == Device::kHost;
  if (!engine.takes(buffer.device)) {
    return fmt::format("the buffer is in {} memory, which the transport {} does not take; copy it to {} memory first.",
                       on_host ? "host" : "device", to_string(engine.medium()), on_host ? "device" : "host");
  }
  if (on_host && buffer.stream != nullptr) {
    return "the buffer has a stream, but is in host memory, which no stream orders; wait for the stream's work and "
           "leave Buffer::stream null.";
  }
  return "";
}

[[noreturn]] void throw_refusal(std::string_view operation, int rank, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, fmt::format("Rank {}: {}: {}", rank, operation, why),
              {.rank = rank, .operation = std::string(operation)});
}

}  // namespace

std::size_t Task::common_bytes() const {
  if (!has_pair_counts()) return buffer.bytes();
  const std::size_t elements = std::accumulate(counts().begin(), counts().end(), std::size_t{0});
  const auto ranks = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(counts().size()))));
  return elements / ranks * size_of(buffer.dtype);
}

OwnBlock own_block(const Task& task, int rank, int size) {
  if (task.collective != Collective::kAllToAll) return {};
  const std::size_t element = size_of(task.buffer.dtype);
  if (!task.has_pair_counts()) {
    const std::size_t bytes = task.buffer.count / at(size) * element;
    return {bytes * at(rank), bytes * at(rank), bytes};
  }
  return {row(task, rank, size, rank) * element, column(task, rank, size, rank) * element,
          task.counts()[at(rank * size + rank)] * element};
}

void refuse_names(const Task& task, int rank) {
  const std::string_view operation = to_string(task.collective);
  if (task.collective > Collective::kBarrier) {
    throw_refusal(operation, rank, fault_of_number("collective", static_cast<int>(task.collective), "Collective"));
  }
  if (task.op > ReduceOp::kProduct)
    throw_refusal(operation, rank, fault_of_number("operator", static_cast<int>(task.op), "ReduceOp"));
  throw_refusal(operation, rank, fault_of_number("data type", static_cast<int>(task.buffer.dtype), "DataType"));
}

void refuse_options(const OperationOptions& options, std::string_view operation, int rank) {
  if (options.timeout.count() < 0) {
    throw_refusal(operation, rank,
                  fmt::format("the timeout is {} ms; give it more than 0, or 0 for that of LOCKSTEP_TIMEOUT.",
                              options.timeout.count()));
  }
  throw_refusal(operation, rank, fault_of_number("reduction", static_cast<int>(options.reduction), "Reduction"));
}

void throw_of(const Task& task, int rank, const Error& error) {
  if (error.rank() >= 0) throw error;
  const std::string operation(to_string(task.collective));
  throw Error(error.code(), fmt::format("Rank {}: {}: {}", rank, operation, error.what()),
              {.rank = rank, .operation = operation});
}

void validate(const Task& task, const Identity& identity, const Engine& engine) {
  if (!has_names(task)) refuse_names(task, identity.rank);
  const int rank = identity.rank;
  const int size = identity.size;
  const auto refuse = [&](const std::string& why) { throw_refusal(to_string(task.collective), rank, why); };
  const std::size_t count = task.buffer.count;
  if (const std::string fault = fault_of(task.buffer, engine); !fault.empty()) refuse(fault);
  if (task.root < 0 || task.root >= size) refuse(fmt::format("the root is {} in a group of {}.", task.root, size));
  if (task.block_counts) {
    if (const std::string fault = fault_of_counts(task, rank, size); !fault.empty()) refuse(fault);
  } else if (has_blocks(task.collective) && count % static_cast<std::size_t>(size) != 0) {
    refuse(fmt::format("{} elements are no multiple of the group's {} ranks; pad the buffer.", count, size));
  }
  if (task.collective != Collective::kAllToAll) return;
  if (const std::string fault = fault_of_buffers(task, rank, size); !fault.empty()) refuse(fault);
}

void validate(const PointToPoint::Message& message, const Identity& identity, const Engine& engine) {
  const int rank = identity.rank;
  const int size = identity.size;
  const auto refuse = [&](const std::string& why) { throw_refusal(to_string(message.direction), rank, why); };
  if (const std::string fault = fault_of(message.buffer, engine); !fault.empty()) refuse(fault);
  if (message.peer == rank) refuse("a rank sends nothing to itself.");
  if (message.peer < 0 || message.peer >= size) {
    refuse(fmt::format("there is no rank {} in a group of {}.", message.peer, size));
  }
}

}  // namespace lockstep::detail
