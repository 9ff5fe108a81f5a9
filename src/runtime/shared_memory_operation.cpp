#include "runtime/shared_memory_operation.h"

#include "runtime/disagreement.h"
#include "schedule/promise.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <bit>

namespace lockstep {

namespace {

std::size_t bytes_of_all(const Announcement& what, int ranks) {
  return what.count * size_of(what.dtype) * static_cast<std::size_t>(ranks);
}

/// What helps where a schedule has more chunks than the staging area has places. An all_to_all has one for each pair of
/// ranks by any algorithm, and one of unequal blocks (all_to_all_v) is staged from any memory.
const char* remedy_for_many_chunks(const Announcement& what) {
  if (what.collective != Collective::kAllToAll) return "take one of fewer chunks";
  return what.blocks == 0 ? "take memory that Group::allocate gave, or LOCKSTEP_TRANSPORT=tcp"
                          : "take LOCKSTEP_TRANSPORT=tcp";
}

}  // namespace

SharedMemoryOperation::SharedMemoryOperation(Transport& transport, StagingRing& staging, Setup setup)
    : RunningOperation(setup.announcement),
      transport_(transport),
      staging_(staging),
      plan_(std::move(setup.plan)),
      layout_(std::move(setup.layout)),
      write_policy_(setup.caches, plan_->is_staged(), bytes_of_all(announcement_, transport.size())),
      runner_(announcement_.dtype, announcement_.op, transport.size()),
      peers_(static_cast<std::size_t>(transport.size())) {
  if (!is_staged()) {
    const bool is_dealt = bytes_of_all(announcement_, transport.size()) >= setup.dealing.least_of_all_bytes;
    if (is_dealt) layout_.deal(setup.dealing.block_bytes);
    return;
  }
  layout_ = cut_into_pieces();
  place_bytes_ = std::min(room_for_a_place(), std::bit_ceil(layout_.slice_bytes()));
  turns_ = &staging_.turns_of(*plan_, place_bytes_);
}

/// A whole number of cache lines.
std::size_t SharedMemoryOperation::room_for_a_place() const {
  const std::size_t places =
      static_cast<std::size_t>(plan_->staging_versions) * static_cast<std::size_t>(plan_->chunks);
  return staging_.slot_bytes() / places / Layout::kCacheLine * Layout::kCacheLine;
}

Layout SharedMemoryOperation::cut_into_pieces() const {
  const std::size_t available = room_for_a_place();
  if (available == 0) {
    refuse(
        fmt::format("the schedule '{}' has {} chunks of which {} versions must be staged, more than the staging "
                    "area of {} bytes has room for; {}",
                    plan_->algorithm, plan_->chunks, plan_->staging_versions, staging_.slot_bytes(),
                    remedy_for_many_chunks(announcement_)));
  }
  const auto sliced = [this](std::size_t bytes) {
    Layout layout = layout_;
    layout.slice(bytes);
    return layout;
  };
  const auto steps_of = [this](const Layout& layout) {
    return layout.pieces() * static_cast<std::size_t>(plan_->ticks);
  };
  Layout layout = sliced(std::min(available, plan_->slice_bytes(layout_.slice_bytes())));
  if (steps_of(layout) > Progress::kMostSteps) layout = sliced(available);
  if (steps_of(layout) > Progress::kMostSteps) {
    refuse(
        fmt::format("the schedule '{}' takes {} steps for each of the {} pieces in which so large a buffer of "
                    "plain memory passes through the staging area, more than {} in all; take memory that "
                    "Group::allocate gave, or another algorithm",
                    plan_->algorithm, plan_->ticks, layout.pieces(), Progress::kMostSteps));
  }
  return layout;
}

void SharedMemoryOperation::refuse(const std::string& why) const {
  const int rank = transport_.rank();
  const std::string operation(to_string(announcement_.collective));
  throw Error(ErrorCode::kUnsupported, fmt::format("Rank {}: {}: {}.", rank, operation, why),
              {.rank = rank, .operation = operation});
}

void SharedMemoryOperation::enter() {
  in_piece_ = false;
  piece_ = 0;
  for (Peer& peer : peers_) peer.agrees = false;
  Peer& self = peers_[static_cast<std::size_t>(transport_.rank())];
  self.agrees = true;
  if (!is_staged()) {
    const auto bytes = announcement_.count * size_of(announcement_.dtype);
    self.input_offset = transport_.offset_of(call().input, bytes).value_or(0);
    self.output_offset = transport_.offset_of(call().output, bytes).value_or(0);
    announcement_.input_offset = self.input_offset;
    announcement_.output_offset = self.output_offset;
  }
  transport_.announce(announcement_);
}

bool SharedMemoryOperation::go_on() {
  while (piece_ < layout_.pieces()) {
    if (!in_piece_ && !enter_piece()) return false;
    while (position_ < plan_->steps.size()) {
      const Plan::Step& step = plan_->steps[position_];
      if (!satisfied(step.before, progress_at(0))) return false;
      if (plan_->weaves && position_ == 1 && piece_ + 1 < layout_.pieces()) {
        weave();
        continue;
      }
      carry_out(step);
      transport_.signal(progress_at(plan_->ticks_at(++position_)));
    }
    if (!is_staged() && !satisfied(plan_->after, progress_at(0))) return false;
    in_piece_ = false;
    ++piece_;
  }
  return true;
}

void SharedMemoryOperation::carry_out(const Plan::Step& step) {
  if (!is_staged()) check_owners_of(step);
  for (const Plan::Move& move : step.moves) carry_out_rows(move);
  // A peer may have failed meanwhile: then what was read of it counts for nothing.
  if (!is_staged()) check_owners_of(step);
}

void SharedMemoryOperation::check_owners_of(const Plan::Step& step) {
  if (!transport_.hears_of_failure()) return;
  const auto check = [this](const Plan::Place& place) {
    if (place.rank != transport_.rank() && transport_.has_failed(place.rank)) transport_.look_around();
  };
  for (const Plan::Move& move : step.moves) {
    std::for_each(move.operands.begin(), move.operands.end(), check);
    std::for_each(move.targets.begin(), move.targets.end(), check);
  }
}

bool SharedMemoryOperation::enter_piece() {
  if (is_staged()) {
    // Only now may the slot be written again. Peers whose old operation that was have told how far they are.
    const StagingRing::Use& use = staging_.previous_use();
    if (use.plan != nullptr && !satisfied(use.waits_before(*plan_, *turns_), {use.sequence, use.first_tick})) {
      return false;
    }
    slot_offset_ = staging_.offset_bytes();
    turn_ = staging_.take(
        {.plan = plan_.get(), .turns = turns_, .sequence = announcement_.sequence, .first_tick = progress_at(0).steps});
  }
  in_piece_ = true;
  position_ = 0;
  // A step that waits for nobody signals in a moment anyway.
  const bool starts_at_once = !plan_->steps.empty() && plan_->steps.front().before.empty();
  if (!starts_at_once) transport_.signal(progress_at(plan_->ticks_at(0)));
  return true;
}

Progress SharedMemoryOperation::progress_at(int ticks) const {
  return {announcement_.sequence, static_cast<std::uint32_t>(piece_) * static_cast<std::uint32_t>(plan_->ticks) +
                                      static_cast<std::uint32_t>(ticks)};
}

bool SharedMemoryOperation::satisfied(const std::vector<Plan::Wait>& waits, Progress start) {
  for (const Plan::Wait& wait : waits) {
    const Progress progress = transport_.progress_of(wait.peer);
    if (progress.sequence >= announcement_.sequence) check_agreement(wait.peer);
    const Progress target{start.sequence, start.steps + static_cast<std::uint32_t>(wait.ticks)};
    if (progress < target) {
      blocked_on_ = {wait.peer, target};
      return false;
    }
  }
  blocked_on_.reset();
  return true;
}

void SharedMemoryOperation::check_agreement(int index) {
  Peer& peer = peers_[static_cast<std::size_t>(index)];
  if (peer.agrees) return;
  const auto entry = transport_.entry_of(index, announcement_.sequence);
  const auto fingerprint = entry ? entry->fingerprint : transport_.fingerprint_of(index, announcement_.sequence);
  if (fingerprint && *fingerprint != announcement_.fingerprint) {
    show_that_it_has_come();
    throw_disagreement(transport_, announcement_.sequence);
  }
  // A peer so far ahead that its entry is gone has needed nothing from here but what this rank has given.
  if (entry) peer = {true, entry->input_offset, entry->output_offset};
}

void SharedMemoryOperation::show_that_it_has_come() {
  const Progress entering{announcement_.sequence, 0};
  if (transport_.progress_of(transport_.rank()) < entering) transport_.signal(entering);
}

/// What is dealt out is in one piece, and what is in pieces has one row, so that the sum is either's number.
void SharedMemoryOperation::carry_out_rows(const Plan::Move& move) {
  for (std::size_t row = layout_.rows(); row-- > 0;) carry_out(move, {.piece = piece_ + row, .turn = turn_});
}

void SharedMemoryOperation::carry_out(const Plan::Move& move, const Part& part) {
  if (const std::size_t count = count_of(move, part); count > 0) {
    runner_.run(move, count, write_policy_.of(move, count * size_of(announcement_.dtype)),
                [&](const Plan::Place& place) { return address_of(place, move.chunk, part); });
  }
  if (part.piece == 0 && records()) record(move, plan_->schedule_step(position_), transport_.rank());
}

void SharedMemoryOperation::weave() {
  const std::vector<Plan::Move>& lasts = plan_->steps.back().moves;
  Part now{.piece = piece_++, .turn = turn_};
  turn_ = staging_.take_again(progress_at(0).steps);
  Part next{.piece = piece_, .turn = turn_};
  for (std::size_t i = 0; i < lasts.size(); ++i) {
    const Plan::Move& last = lasts[i];
    const Plan::Move& first = plan_->steps.front().moves[i];
    now.begin = next.begin = 0;
    const std::size_t count = std::min(count_of(last, now), count_of(first, next));
    if (count > 0) {
      runner_.run(last, count, {}, [&](const Plan::Place& place) { return address_of(place, last.chunk, now); },
                  {.target = address_of(first.targets.front(), first.chunk, next),
                   .source = address_of(first.operands.front(), first.chunk, next)});
    }
    now.begin = next.begin = count;
    carry_out(last, now);
    carry_out(first, next);
  }
  transport_.signal(progress_at(plan_->ticks_at(position_)));
}

std::size_t SharedMemoryOperation::count_of(const Plan::Move& move, const Part& part) const {
  const std::size_t in_slice = layout_.input(move.chunk, part.piece).count;
  return in_slice - std::min(in_slice, part.begin);
}

std::byte* SharedMemoryOperation::address_of(const Plan::Place& place, int chunk, const Part& part) const {
  const std::size_t begin = part.begin * size_of(announcement_.dtype);
  if (place.memory == Plan::Memory::kStaging) {
    const Plan::Stage stage = plan_->stage_of(place, chunk, part.turn);
    const std::size_t index = static_cast<std::size_t>(stage.version) * static_cast<std::size_t>(plan_->chunks) +
                              static_cast<std::size_t>(stage.chunk);
    return transport_.staging_of(stage.rank) + slot_offset_ + index * place_bytes_ + begin;
  }
  const bool is_input = place.memory == Plan::Memory::kInput;
  const Layout::Span span = is_input ? layout_.input(chunk, part.piece) : layout_.output(chunk, part.piece);
  const std::size_t offset = span.offset_bytes + begin;
  if (place.rank == transport_.rank()) {
    // Nothing is ever written to an input that is not the output.
    return place_in(is_input ? const_cast<void*>(call().input) : call().output, offset);
  }
  const Peer& peer = peers_[static_cast<std::size_t>(place.rank)];
  return transport_.memory_of(place.rank, is_input ? peer.input_offset : peer.output_offset) + offset;
}

void SharedMemoryOperation::wait_for_peer_until(Time at_most) {
  if (!blocked_on_) return;
  const auto [peer, target] = *blocked_on_;
  if (!CallDeadline::is_over(at_most) && transport_.await_briefly(peer, target)) return;
  show_that_it_has_come();
  // First for the peer to enter the operation, so that disagreement is seen although the peer will come no further.
  const Progress entering{announcement_.sequence, 0};
  const CallDeadline::Clock::time_point until = deadline_.next_look_or(at_most);
  bool has_come = true;
  if (target > entering) {
    has_come = transport_.wait_for(peer, entering, until);
    if (has_come) check_agreement(peer);
  }
  has_come = has_come && transport_.wait_for(peer, target, until);
  if (!has_come && deadline_.has_passed()) throw_late(peer);
}

void SharedMemoryOperation::throw_late(int peer) const {
  // Most who wait do so for one that waits itself: the one that is behind all others keeps them.
  std::vector<int> absent;
  std::vector<int> slow{peer};
  for (int other = 0; other < transport_.size(); ++other) {
    const Progress progress = transport_.progress_of(other);
    if (other == transport_.rank()) continue;
    if (progress.sequence < announcement_.sequence) absent.push_back(other);
    const Progress least = transport_.progress_of(slow.front());
    if (other == peer || progress > least) continue;
    if (progress < least) slow.clear();
    slow.push_back(other);
  }
  if (!absent.empty()) RunningOperation::throw_late(transport_.rank(), absent, kDidNotCome);
  RunningOperation::throw_late(transport_.rank(), slow, kWentNoFurther);
}

}  // namespace lockstep
