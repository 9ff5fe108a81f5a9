#include "schedule/drawing.h"

#include "base/units.h"
#include "schedule/holdings.h"
#include "schedule/promise.h"
#include "schedule/ranges.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

constexpr std::int64_t kMostEntriesHeld = 1'000'000;
constexpr std::int64_t kMostTableLines = 20'000;

/// What every rank holds of every chunk.
using Board = std::vector<Holdings>;

Board board_at_start(const Schedule& schedule) {
  Board board;
  for (int chunk = 0; chunk < schedule.chunks; ++chunk) board.emplace_back(schedule, chunk);
  return board;
}

void apply(const Step& step, Board& board) {
  std::map<int, std::vector<Transfer>> moves;  // by chunk
  for (const Transfer& transfer : step) moves[transfer.chunk].push_back(transfer);
  for (const auto& [chunk, transfers] : moves) board[static_cast<std::size_t>(chunk)].apply(transfers);
}

void require_in_range(const Schedule& schedule) {
  if (const auto refusal = check_ranges(schedule)) {
    throw Error(ErrorCode::kRefused,
                fmt::format("The schedule '{}' cannot be drawn: {}", schedule.name, describe(*refusal)));
  }
}

std::string_view word_of(TransferKind kind) { return kind == TransferKind::kCopy ? "copy" : "reduce"; }

/// Where a collective that has a root starts or ends.
std::string root_of(const Schedule& schedule) {
  if (!has_root(schedule.collective)) return "";
  const bool ends_there = schedule.collective == Collective::kReduce || schedule.collective == Collective::kGather;
  return fmt::format(" {} {}", ends_there ? "to" : "from", schedule.root);
}

/// 0, 1, 2, 5 as "0-2+5".
std::string shortened(const std::vector<int>& ranks) {
  std::vector<std::string> runs;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    runs.push_back(first == last ? fmt::format("{}", ranks[first]) : fmt::format("{}-{}", ranks[first], ranks[last]));
    first = last + 1;
  }
  return fmt::format("{}", fmt::join(runs, "+"));
}

/// Writes the tables in one of two widths.
class Table {
 public:
  Table(const Schedule& schedule, bool is_short)
      : ranks_(schedule.ranks),
        is_short_(is_short),
        row_width_(fmt::format("  chunk {}  ", schedule.chunks - 1).size()) {
    // Every table of a drawing has the same columns, so they are measured over all steps.
    Board board = board_at_start(schedule);
    measure(board);
    for (const Step& step : schedule.steps) {
      apply(step, board);
      measure(board);
    }
  }

  std::size_t width() const { return row_width_ + static_cast<std::size_t>(ranks_) * column_width_; }

  std::string draw(const Board& board) const {
    std::string text(row_width_, ' ');
    for (int rank = 0; rank < ranks_; ++rank) append_cell(text, head(rank));
    end_row(text);
    for (std::size_t chunk = 0; chunk < board.size(); ++chunk) {
      text += fmt::format("{:<{}}", fmt::format("  chunk {}", chunk), row_width_);
      for (int rank = 0; rank < ranks_; ++rank) append_cell(text, cell(board[chunk], rank));
      end_row(text);
    }
    return text;
  }

 private:
  std::string head(int rank) const { return fmt::format("{}{}", is_short_ ? "r" : "rank ", rank); }

  std::string cell(const Holdings& holdings, int rank) const {
    if (!holdings.holds(rank)) return ".";
    if (holdings.is_complete(rank)) return "*";
    const auto ranks = holdings.contributions(rank);
    return is_short_ ? shortened(ranks) : fmt::format("{}", fmt::join(ranks, "+"));
  }

  void measure(const Board& board) {
    for (int rank = 0; rank < ranks_; ++rank) {
      column_width_ = std::max(column_width_, head(rank).size() + 2);
      for (const Holdings& holdings : board) column_width_ = std::max(column_width_, cell(holdings, rank).size() + 2);
    }
  }

  void append_cell(std::string& text, const std::string& cell) const {
    text += fmt::format("{:<{}}", cell, column_width_);
  }
  static void end_row(std::string& text) {
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }

  int ranks_;
  bool is_short_;
  std::size_t row_width_;
  std::size_t column_width_ = 0;
};

/// "  reduce chunk 0: 1 -> 0, 2 -> 0", folded at `columns`.
std::string transfers_of(const Step& step, std::size_t columns) {
  std::map<std::pair<TransferKind, int>, std::vector<std::string>> links;
  for (const auto& [kind, chunk, from, to] : step) links[{kind, chunk}].push_back(fmt::format("{} -> {}", from, to));
  std::string text;
  for (const auto& [what, list] : links) {
    std::string line = fmt::format("  {} chunk {}:", word_of(what.first), what.second);
    const std::string indent(line.size(), ' ');
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string link = fmt::format(" {}{}", list[i], i + 1 < list.size() ? "," : "");
      if (line.size() + link.size() > columns && line != indent) {
        text += line + '\n';
        line = indent;
      }
      line += link;
    }
    text += line + '\n';
  }
  return text;
}

/// The widest table that fits; none if none does.
std::optional<Table> fitting_table(const Schedule& schedule, std::size_t columns) {
  const auto lines = (static_cast<std::int64_t>(schedule.steps.size()) + 1) * (schedule.chunks + 1);
  constexpr std::size_t kNarrowestColumn = 4;  // "r0" and a gap
  if (static_cast<std::size_t>(schedule.ranks) * kNarrowestColumn > columns || lines > kMostTableLines)
    return std::nullopt;
  for (const bool is_short : {false, true}) {
    const Table table(schedule, is_short);
    if (table.width() <= columns) return table;
  }
  return std::nullopt;
}

nlohmann::json held(const Board& board, int ranks) {
  auto chunks = nlohmann::json::array();
  for (const Holdings& holdings : board) {
    auto row = nlohmann::json::array();
    for (int rank = 0; rank < ranks; ++rank) row.push_back(holdings.contributions(rank));
    chunks.push_back(std::move(row));
  }
  return chunks;
}

}  // namespace

std::string draw_text(const Schedule& schedule, int columns) {
  require_in_range(schedule);
  std::size_t transfers = 0;
  for (const Step& step : schedule.steps) transfers += step.size();
  const auto width = static_cast<std::size_t>(std::max(columns, 40));
  std::string text = fmt::format("{}: {} on {}{}, {}, {}, {}\n", schedule.name, to_string(schedule.collective),
                                 counted(static_cast<std::size_t>(schedule.ranks), "rank"), root_of(schedule),
                                 counted(static_cast<std::size_t>(schedule.chunks), "chunk"),
                                 counted(schedule.steps.size(), "step"), counted(transfers, "transfer"));
  const auto table = fitting_table(schedule, width);
  if (!table) {
    text += fmt::format("The tables of who holds what do not fit {} columns here; --format json has them.\n", width);
  } else {
    text += "Ranks across, chunks down: 0+1 sums ranks 0 and 1, * is complete, . is empty.\n";
  }
  Board board = table ? board_at_start(schedule) : Board{};
  if (table) text += "\nstart\n" + table->draw(board);
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    text += fmt::format("\nstep {}\n", i) + transfers_of(schedule.steps[i], width);
    if (!table) continue;
    apply(schedule.steps[i], board);
    text += table->draw(board);
  }
  return text;
}

std::string draw_json(const Schedule& schedule) {
  require_in_range(schedule);
  const auto cells = static_cast<std::int64_t>(schedule.ranks) * schedule.chunks;
  const auto tables = static_cast<std::int64_t>(schedule.steps.size()) + 1;
  const bool shows_held = cells <= kMostEntriesHeld / tables / schedule.ranks;
  nlohmann::json json{{"name", schedule.name},   {"collective", to_string(schedule.collective)},
                      {"ranks", schedule.ranks}, {"chunks", schedule.chunks},
                      {"root", schedule.root},   {"steps", nlohmann::json::array()}};
  Board board = shows_held ? board_at_start(schedule) : Board{};
  if (shows_held) json["start"] = held(board, schedule.ranks);
  for (const Step& step : schedule.steps) {
    auto transfers = nlohmann::json::array();
    for (const auto& [kind, chunk, from, to] : step) {
      transfers.push_back({{"kind", word_of(kind)}, {"chunk", chunk}, {"from", from}, {"to", to}});
    }
    nlohmann::json entry{{"transfers", std::move(transfers)}};
    if (shows_held) {
      apply(step, board);
      entry["holds"] = held(board, schedule.ranks);
    }
    json["steps"].push_back(std::move(entry));
  }
  return json.dump() + "\n";
}

}  // namespace lockstep
