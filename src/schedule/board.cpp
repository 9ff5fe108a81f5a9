#include "schedule/board.h"

#include "schedule/promise.h"

#include <utility>

namespace lockstep {

Board::Board(const Schedule& schedule)
    : ranks_(schedule.ranks),
      words_((static_cast<std::size_t>(schedule.ranks) + 63) / 64),
      bits_(static_cast<std::size_t>(schedule.ranks) * static_cast<std::size_t>(schedule.chunks) * words_),
      contributors_(static_cast<std::size_t>(schedule.chunks)) {
  for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
    for (int rank = 0; rank < ranks_; ++rank) {
      if (!contributes(schedule, rank, chunk)) continue;
      cell(rank, chunk)[rank / 64] |= std::uint64_t{1} << (rank % 64);
      contributors_[static_cast<std::size_t>(chunk)].push_back(rank);
    }
  }
}

void Board::carry_out(const Step& step) {
  std::vector<std::uint64_t> sent;
  sent.reserve(step.size() * words_);
  for (const auto& [kind, chunk, from, to] : step)
    sent.insert(sent.end(), cell(from, chunk), cell(from, chunk) + words_);
  const std::uint64_t* source = sent.data();
  for (const auto& [kind, chunk, from, to] : step) {
    std::uint64_t* target = cell(to, chunk);
    for (std::size_t word = 0; word < words_; ++word) {
      target[word] = source[word] | (kind == TransferKind::kReduce ? target[word] : 0);
    }
    source += words_;
  }
}

bool Board::is_complete(int rank, int chunk) const { return contributions(rank, chunk) == contributors(chunk); }

std::vector<int> Board::contributions(int rank, int chunk) const {
  std::vector<int> ranks;
  const std::uint64_t* bits = cell(rank, chunk);
  for (int other = 0; other < ranks_; ++other) {
    if ((bits[other / 64] >> (other % 64) & 1U) != 0) ranks.push_back(other);
  }
  return ranks;
}

const std::uint64_t* Board::cell(int rank, int chunk) const {
  return bits_.data() +
         (static_cast<std::size_t>(chunk) * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(rank)) * words_;
}
std::uint64_t* Board::cell(int rank, int chunk) {
  return const_cast<std::uint64_t*>(std::as_const(*this).cell(rank, chunk));
}

}  // namespace lockstep
