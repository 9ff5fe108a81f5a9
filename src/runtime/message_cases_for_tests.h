#pragma once

#include "runtime/message_operation.h"
#include "schedule/promise.h"
#include "schedule/view.h"
#include "transport/tcp/transports_for_tests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

namespace lockstep {

/// Small whole numbers, exact in any order of summing.
inline float contribution(int rank, std::size_t element) {
  return static_cast<float>((element * 7 + static_cast<std::size_t>(rank) * 3) % 5 + 1);
}

struct Shape {
  Collective collective;
  std::size_t count;  ///< elements of the buffer
  ReduceOp op = ReduceOp::kSum;
};

inline Announcement announcement_of(const Shape& shape, const Schedule& schedule) {
  Announcement announcement;
  announcement.collective = shape.collective;
  announcement.count = shape.count;
  announcement.op = shape.op;
  announcement.root = schedule.root;
  announcement.fingerprint = shape.count;
  schedule.name.copy(announcement.algorithm.data(), announcement.algorithm.size() - 1);
  return announcement;
}

inline Layout layout_of(const Shape& shape, const Schedule& schedule) {
  return Layout({.collective = shape.collective,
                 .dtype = DataType::kFloat32,
                 .ranks = schedule.ranks,
                 .chunks = schedule.chunks,
                 .count = shape.count,
                 .block_counts = {}});
}

inline void finish(RunningOperation& operation) {
  while (!operation.advance()) operation.wait_for_peer();
}

/// What the collective promises to this rank, chunk by chunk.
inline void expect_promise(const Schedule& schedule, const Shape& shape, int rank, const std::vector<float>& output) {
  const Layout layout = layout_of(shape, schedule);
  for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
    if (!must_end_with(schedule, rank, chunk)) continue;
    const Layout::Span in = layout.input(chunk, 0);
    const Layout::Span out = layout.output(chunk, 0);
    for (std::size_t i = 0; i < in.count; ++i) {
      float expected = 0;
      for (int other = 0; other < schedule.ranks; ++other) {
        if (contributes(schedule, other, chunk)) expected += contribution(other, in.offset_bytes / sizeof(float) + i);
      }
      if (shape.op == ReduceOp::kMean) expected /= static_cast<float>(schedule.ranks);
      ASSERT_FLOAT_EQ(output[out.offset_bytes / sizeof(float) + i], expected) << "rank " << rank << " chunk " << chunk;
    }
  }
}

/// A rank's operation with what it stands on.
struct Subject {
  Subject(MessageTransport& transport, const Schedule& schedule, const Shape& shape)
      : shared(transport.size()),
        operation(transport, shared,
                  {.plan = std::make_shared<const MessagePlan>(make_message_plan(schedule, transport.rank())),
                   .announcement = announcement_of(shape, schedule),
                   .layout = layout_of(shape, schedule)}) {}

  void run(const float* input, float* output, std::uint64_t sequence,
           std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    const Call call{.input = input, .output = output, .purpose = "", .timeout = timeout};
    operation.begin(call, sequence);
    finish(operation);
  }

  MessageOperation::Shared shared;
  MessageOperation operation;
};

/// What a rank keeps of its own goes through no schedule: whoever calls puts it in place.
inline void place_own_chunks(const Schedule& schedule, const Layout& layout, int rank, const std::vector<float>& input,
                             std::vector<float>& output) {
  std::vector<bool> comes(static_cast<std::size_t>(schedule.chunks));
  for (const auto& step : view_of(schedule, rank).steps) {
    for (const Transfer& transfer : step.receives) comes[static_cast<std::size_t>(transfer.chunk)] = true;
  }
  for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
    if (comes[static_cast<std::size_t>(chunk)] || !must_end_with(schedule, rank, chunk)) continue;
    const Layout::Span in = layout.input(chunk, 0);
    std::copy_n(input.begin() + static_cast<std::ptrdiff_t>(in.offset_bytes / sizeof(float)), in.count,
                output.begin() + static_cast<std::ptrdiff_t>(layout.output(chunk, 0).offset_bytes / sizeof(float)));
  }
}

/// What is carried out, and on what.
struct Case {
  Schedule schedule;
  Shape shape;
};

/// Calls `check` in each rank with each of the cases, which have that many ranks, one after the other over one set of
/// connections: a set for each would leave the system short of ports.
template <class Check>
void for_each_case(int ranks, const std::vector<Case>& cases, std::size_t piece_bytes, const Check& check) {
  tcp::on_transports(
      ranks,
      [&](MessageTransport& transport) {
        std::uint64_t sequence = 0;
        for (const Case& one : cases) {
          SCOPED_TRACE(fmt::format("{} {} from {}, {} elements", one.schedule.name, to_string(one.shape.collective),
                                   one.schedule.root, one.shape.count));
          check(transport, one, sequence);
        }
      },
      piece_bytes);
}

/// In place, out of place, and in place again, with one operation object.
inline void run_and_check(int ranks, const std::vector<Case>& cases, std::size_t piece_bytes = 0) {
  for_each_case(ranks, cases, piece_bytes, [](MessageTransport& transport, const Case& one, std::uint64_t& sequence) {
    const auto& [schedule, shape] = one;
    const int rank = transport.rank();
    Subject subject(transport, schedule, shape);
    const int out_of_place = 1;
    for (int time = 0; time < 3; ++time) {
      // Blocks of an all_to_all change places: it has two buffers always.
      const bool in_place = time != out_of_place && shape.collective != Collective::kAllToAll;
      std::vector<float> input(shape.count);
      for (std::size_t i = 0; i < input.size(); ++i) input[i] = contribution(rank, i);
      const std::vector<float> before = input;
      std::vector<float> elsewhere(shape.count, -1.0F);
      place_own_chunks(schedule, layout_of(shape, schedule), rank, input, elsewhere);
      std::vector<float>& output = in_place ? input : elsewhere;
      subject.run(input.data(), output.data(), ++sequence);
      expect_promise(schedule, shape, rank, output);
      if (!in_place) {
        EXPECT_EQ(input, before) << "an input that is not the output is only read";
      }
    }
  });
}

inline void run_and_check(const Schedule& schedule, const Shape& shape, std::size_t piece_bytes = 0) {
  run_and_check(schedule.ranks, {{schedule, shape}}, piece_bytes);
}

/// Every rank carries out its transfers of the schedule, and no others.
inline void expect_carried_out(int ranks, const std::vector<Case>& cases, std::size_t piece_bytes = 0) {
  for_each_case(ranks, cases, piece_bytes, [](MessageTransport& transport, const Case& one, std::uint64_t& sequence) {
    const auto& [schedule, shape] = one;
    std::vector<ExecutedTransfer> carried_out;
    const TransferRecorder recorder = [&](const ExecutedTransfer& done) { carried_out.push_back(done); };
    Subject subject(transport, schedule, shape);
    subject.operation.record_transfers(&recorder);
    const std::vector<float> input(shape.count, 1.0F);
    std::vector<float> output = input;
    subject.run(shape.collective == Collective::kAllToAll ? input.data() : output.data(), output.data(), ++sequence);
    std::vector<ExecutedTransfer> planned;
    const RankView view = view_of(schedule, transport.rank());
    for (std::size_t step = 0; step < view.steps.size(); ++step) {
      for (const Transfer& transfer : view.steps[step].receives) planned.push_back({static_cast<int>(step), transfer});
    }
    EXPECT_THAT(carried_out, testing::UnorderedElementsAreArray(planned));
  });
}

}  // namespace lockstep
