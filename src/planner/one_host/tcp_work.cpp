#include "planner/one_host/tcp_work.h"

#include "base/index.h"
#include "planner/one_host/around_size.h"
#include "planner/one_host/tcp_turns.h"
#include "planner/one_host/timed_batch.h"
#include "runtime/layout.h"
#include "runtime/message_operation.h"
#include "schedule/promise.h"
#include "transport/tcp/piece_bytes.h"

#include <algorithm>
#include <utility>

namespace lockstep {

namespace {

constexpr DataType kDataType = DataType::kFloat32;

/// What is cut into blocks has as many elements in each, at least one.
Layout layout_of(const Schedule& schedule, double bytes) {
  const std::size_t blocks = has_blocks(schedule.collective) ? at(schedule.ranks) : 1;
  const auto elements = static_cast<std::size_t>(bytes) / size_of(kDataType);
  return Layout({.collective = schedule.collective,
                 .dtype = kDataType,
                 .ranks = schedule.ranks,
                 .chunks = schedule.chunks,
                 .count = (elements + blocks - 1) / blocks * blocks,
                 .block_counts = {}});
}

/// Into how many parts the largest chunk is cut, to be handed on one by one.
int parts_of(const std::vector<double>& chunk_bytes) {
  constexpr double kPartBytes = 64 << 10;
  constexpr double kMostParts = 4;
  const double largest = *std::max_element(chunk_bytes.begin(), chunk_bytes.end());
  return static_cast<int>(std::clamp(largest / kPartBytes, 1.0, kMostParts));
}

/// All that a core's share of the ranks has in its hands in an operation, in buffers: theirs, and what they receive and
/// do not keep.
double buffers_a_core(const TcpJob& job, int cores) {
  double buffers = job.schedule.ranks;
  for (const MessagePlan& plan : job.plans) {
    for (const MessagePlan::Move& move : plan.moves) {
      if (move.kind == TransferKind::kReduce) buffers += static_cast<double>(move.sources.size()) / job.schedule.chunks;
    }
  }
  return buffers / cores;
}

TcpCosts work_of_plans(const TcpJob& job, double bytes, int cores, const TcpCosts& seconds) {
  constexpr std::size_t kMostPieces = 4;  // beyond, they are all alike
  constexpr double kPiecesAtOnce = 3;     // what is under way of pieces is as near as buffers of so many of them
  Layout layout = layout_of(job.schedule, bytes);
  MessageOperation::cut_into_pieces(layout, job.schedule.chunks, tcp::kPieceBytesOverLoopback);
  const std::size_t pieces = std::min(layout.pieces(), kMostPieces);
  std::vector<double> chunk_bytes;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    for (int chunk = 0; chunk < job.schedule.chunks; ++chunk) {
      chunk_bytes.push_back(static_cast<double>(layout.input(chunk, piece).count * size_of(kDataType)));
    }
  }
  std::vector<MessagePlan> plans;
  plans.reserve(job.plans.size());
  for (const MessagePlan& plan : job.plans) plans.push_back(in_pieces(plan, static_cast<int>(pieces)));
  const int used_cores = std::clamp(cores, 1, job.schedule.ranks);
  const double buffers = buffers_a_core(job, used_cores);
  const double at_once = kPiecesAtOnce * static_cast<double>(tcp::kPieceBytesOverLoopback);
  const TcpTurns::Host host{.cores = used_cores,
                            .parts = parts_of(chunk_bytes),
                            .bytes = buffers * bytes,
                            .bytes_at_once = buffers * (layout.pieces() > 1 ? std::min(bytes, at_once) : bytes)};
  const auto run = [&](const Length& length) { return TcpTurns(plans, chunk_bytes, host, seconds).run(length); };
  constexpr Length kSteady{.starting = 2, .counted = 4};
  TcpCosts costs = pieces == layout.pieces() ? as_timed(kSteady, seconds, run) : run(kSteady);
  for (double& amount : costs.values) amount *= static_cast<double>(layout.pieces()) / static_cast<double>(pieces);
  return costs;
}

}  // namespace

TcpJob::TcpJob(Schedule of) : schedule(std::move(of)) {
  plans.reserve(at(schedule.ranks));
  for (int rank = 0; rank < schedule.ranks; ++rank) plans.push_back(make_message_plan(schedule, rank));
}

TcpCosts work_of(const TcpJob& job, double bytes, int cores, const TcpCosts& seconds) {
  return mean_around(bytes, [&](double size) { return work_of_plans(job, size, cores, seconds); });
}

}  // namespace lockstep
