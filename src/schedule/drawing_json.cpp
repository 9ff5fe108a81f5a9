#include "schedule/board.h"
#include "schedule/drawing.h"
#include "schedule/drawing_words.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace lockstep {

namespace {

constexpr std::int64_t kMostEntriesHeld = 1'000'000;

/// Of each chunk, of each rank, the contributions.
nlohmann::json held(const Board& board, const Schedule& schedule) {
  auto chunks = nlohmann::json::array();
  for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
    auto row = nlohmann::json::array();
    for (int rank = 0; rank < schedule.ranks; ++rank) row.push_back(board.contributions(rank, chunk));
    chunks.push_back(std::move(row));
  }
  return chunks;
}

}  // namespace

bool json_says_who_holds_what(const Schedule& schedule) {
  const auto cells = static_cast<std::int64_t>(schedule.ranks) * schedule.chunks;
  const auto tables = static_cast<std::int64_t>(schedule.steps.size()) + 1;
  return cells <= kMostEntriesHeld / tables / schedule.ranks;
}

std::string draw_json(const Schedule& schedule) {
  require_in_range(schedule);
  const bool shows_held = json_says_who_holds_what(schedule);
  nlohmann::json json{{"name", schedule.name},   {"collective", to_string(schedule.collective)},
                      {"ranks", schedule.ranks}, {"chunks", schedule.chunks},
                      {"root", schedule.root},   {"steps", nlohmann::json::array()}};
  std::optional<Board> board;
  if (shows_held) json["start"] = held(board.emplace(schedule), schedule);
  for (const Step& step : schedule.steps) {
    auto transfers = nlohmann::json::array();
    for (const auto& [kind, chunk, from, to] : step) {
      transfers.push_back({{"kind", word_of(kind)}, {"chunk", chunk}, {"from", from}, {"to", to}});
    }
    nlohmann::json entry{{"transfers", std::move(transfers)}};
    if (shows_held) {
      board->carry_out(step);
      entry["holds"] = held(*board, schedule);
    }
    json["steps"].push_back(std::move(entry));
  }
  return json.dump() + "\n";
}

}  // namespace lockstep
