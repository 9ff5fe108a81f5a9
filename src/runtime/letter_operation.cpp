#include "runtime/letter_operation.h"

#include "runtime/disagreement.h"

#include <algorithm>
#include <utility>

namespace lockstep {

bool is_one_exchange(const Schedule& schedule) {
  if (schedule.steps.size() != 1) return false;
  const auto ranks = static_cast<std::size_t>(schedule.ranks);
  std::vector<bool> sends(ranks * ranks);
  for (const Transfer& transfer : schedule.steps.front()) {
    sends[static_cast<std::size_t>(transfer.from) * ranks + static_cast<std::size_t>(transfer.to)] = true;
  }
  return static_cast<std::size_t>(std::count(sends.begin(), sends.end(), true)) == ranks * (ranks - 1);
}

std::vector<ChunkRange> letter_chunks(const Schedule& schedule) {
  std::vector<ChunkRange> letters(static_cast<std::size_t>(schedule.ranks));
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step) {
      ChunkRange& letter = letters[static_cast<std::size_t>(transfer.from)];
      const bool is_first = letter.end == 0;
      letter = {is_first ? transfer.chunk : std::min(letter.first, transfer.chunk),
                std::max(letter.end, transfer.chunk + 1)};
    }
  }
  return letters;
}

std::vector<LetterSpan> letter_spans(const Schedule& schedule, const Layout& layout, DataType dtype) {
  std::vector<LetterSpan> spans;
  for (const ChunkRange& chunks : letter_chunks(schedule)) {
    if (chunks.end == 0) {
      spans.emplace_back();
      continue;
    }
    const std::size_t begin = layout.input(chunks.first, 0).offset_bytes;
    const Layout::Span last = layout.input(chunks.end - 1, 0);
    spans.push_back({begin, last.offset_bytes + last.count * size_of(dtype) - begin});
  }
  return spans;
}

std::size_t longest(const std::vector<LetterSpan>& letters) {
  std::size_t most = 0;
  for (const LetterSpan& letter : letters) most = std::max(most, letter.bytes);
  return most;
}

LetterOperation::LetterOperation(Transport& transport, Letters& letters, Setup setup)
    : RunningOperation(setup.announcement),
      transport_(transport),
      rank_(transport.rank()),
      size_(transport.size()),
      room_bytes_(transport.letter_bytes()),
      letters_(letters),
      plan_(std::move(setup.plan)),
      runner_(announcement_.dtype, announcement_.op, size_),
      spans_(std::move(setup.spans)) {
  letters_.received.resize(static_cast<std::size_t>(size_) * room_bytes_);
  for (const Plan::Step& step : plan_->steps) {
    for (const Plan::Move& move : step.moves) {
      if (move.targets.front().memory != Plan::Memory::kOutput) continue;
      const Layout::Span input = setup.layout.input(move.chunk, 0);
      parts_.push_back({.move = &move,
                        .count = input.count,
                        .input_offset = input.offset_bytes,
                        .output_offset = setup.layout.output(move.chunk, 0).offset_bytes});
    }
  }
}

void LetterOperation::enter() {
  ++letters_.last;
  // The sequence tells it from letters before; the fingerprint from those of ranks that are about something else.
  stamp_ = announcement_.sequence << 32U | (announcement_.fingerprint >> 32U);
  next_ = 0;
  shown_ = false;
  const auto* const input = static_cast<const std::byte*>(call().input);
  if (transport_.post(letter_from(rank_), input + span_of(rank_).offset_bytes)) show();
}

void LetterOperation::show() {
  if (std::exchange(shown_, true)) return;
  transport_.announce(announcement_);
  transport_.signal({announcement_.sequence, 1});
}

bool LetterOperation::go_on() {
  for (; next_ < size_; ++next_) {
    if (next_ != rank_ && !read(next_)) return false;
  }
  for (const Part& part : parts_) {
    if (part.count > 0) {
      runner_.run(*part.move, part.count, {}, [&](const Plan::Place& place) { return address_of(place, part); });
    }
    if (records()) record(*part.move, 0, rank_);
  }
  return true;
}

std::byte* LetterOperation::address_of(const Plan::Place& place, const Part& part) {
  if (place.memory == Plan::Memory::kStaging) {
    return room_for(place.rank) + (part.input_offset - span_of(place.rank).offset_bytes);
  }
  if (place.memory == Plan::Memory::kOutput) return static_cast<std::byte*>(call().output) + part.output_offset;
  // Nothing is ever written to an input that is not the output.
  return static_cast<std::byte*>(const_cast<void*>(call().input)) + part.input_offset;
}

void LetterOperation::wait_for_peer_until(Time at_most) {
  if (next_ == size_) return;
  if (!CallDeadline::is_over(at_most) && transport_.await_briefly(next_, letter_from(next_), room_for(next_))) return;
  show();
  const Progress entering{announcement_.sequence, 0};
  if (!transport_.wait_for(next_, letter_from(next_), room_for(next_), entering, deadline_.next_look_or(at_most))) {
    if (deadline_.has_passed()) throw_late();
    return;
  }
  // Whoever comes to the operation has left its letter before it says so, if it is about the same.
  const bool has_come = transport_.progress_of(next_) >= entering;
  if (has_come && !read(next_)) throw_disagreement(transport_, announcement_.sequence);
}

void LetterOperation::throw_late() {
  std::vector<int> absent;
  for (int peer = 0; peer < size_; ++peer) {
    const bool has_come = transport_.progress_of(peer).sequence >= announcement_.sequence || read(peer);
    if (peer != rank_ && !has_come) absent.push_back(peer);
  }
  if (absent.empty()) absent.push_back(next_);  // it came at the last moment
  RunningOperation::throw_late(rank_, absent, kDidNotCome);
}

}  // namespace lockstep
