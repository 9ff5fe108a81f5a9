#include "schedule/drawing.h"

#include "base/folded.h"
#include "schedule/board.h"
#include "schedule/drawing_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

constexpr std::int64_t kMostTableLines = 20'000;

/// How a cell is written: "a1+b1+c1"; the same with "*" for all that there is to have; "a-c".
enum class CellStyle { kFull, kStarred, kShort };

/// Writes the tables in one style.
class Table {
 public:
  Table(const Schedule& schedule, CellStyle style)
      : schedule_(schedule),
        ranks_(schedule.ranks),
        chunks_(schedule.chunks),
        style_(style),
        row_width_(fmt::format("  chunk {}  ", schedule.chunks - 1).size()) {
    // Every table of a drawing has the same columns, so they are measured over all steps.
    Board board(schedule);
    measure(board);
    for (const Step& step : schedule.steps) {
      board.carry_out(step);
      measure(board);
    }
  }

  std::size_t width() const { return row_width_ + static_cast<std::size_t>(ranks_) * column_width_; }

  std::string legend(std::size_t columns) const {
    const std::string cells = explanation_of_cells(schedule_, {.has_runs = has_runs_});
    return fmt::format("Ranks across, chunks down;{} . is empty.\n{}\n",
                       style_ == CellStyle::kFull ? "" : " * is complete,", folded(cells + '.', columns, ""));
  }

  std::string draw(const Board& board) const {
    std::string text(row_width_, ' ');
    for (int rank = 0; rank < ranks_; ++rank) append_cell(text, head(rank));
    end_row(text);
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      text += fmt::format("{:<{}}", fmt::format("  chunk {}", chunk), row_width_);
      for (int rank = 0; rank < ranks_; ++rank) append_cell(text, cell(board, rank, chunk));
      end_row(text);
    }
    return text;
  }

 private:
  std::string head(int rank) const { return fmt::format("{}{}", style_ == CellStyle::kShort ? "r" : "rank ", rank); }

  std::string cell(const Board& board, int rank, int chunk) const {
    const std::vector<int> contributions = board.contributions(rank, chunk);
    if (contributions.empty()) return ".";
    if (style_ == CellStyle::kFull) return sum_of(contributions, chunk, ranks_);
    if (contributions == board.contributors(chunk)) return "*";
    return style_ == CellStyle::kShort ? short_sum_of(contributions, ranks_) : sum_of(contributions, chunk, ranks_);
  }

  void measure(const Board& board) {
    for (int rank = 0; rank < ranks_; ++rank) {
      column_width_ = std::max(column_width_, head(rank).size() + 2);
      for (int chunk = 0; chunk < chunks_; ++chunk) {
        const std::string text = cell(board, rank, chunk);
        column_width_ = std::max(column_width_, text.size() + 2);
        has_runs_ |= text.find('-') != std::string::npos;
      }
    }
  }

  void append_cell(std::string& text, const std::string& cell) const {
    text += fmt::format("{:<{}}", cell, column_width_);
  }
  static void end_row(std::string& text) {
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }

  const Schedule& schedule_;
  int ranks_;
  int chunks_;
  CellStyle style_;
  std::size_t row_width_;
  std::size_t column_width_ = 0;
  bool has_runs_ = false;  ///< some cell, of some step
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

std::int64_t table_lines(const Schedule& schedule) {
  return (static_cast<std::int64_t>(schedule.steps.size()) + 1) * (schedule.chunks + 1);
}

/// The widest table that fits; none if none does.
std::optional<Table> fitting_table(const Schedule& schedule, std::size_t columns) {
  constexpr std::size_t kNarrowestColumn = 4;  // "r0" and a gap
  if (table_lines(schedule) > kMostTableLines) return std::nullopt;
  if (static_cast<std::size_t>(schedule.ranks) * kNarrowestColumn > columns) return std::nullopt;
  for (const CellStyle style : {CellStyle::kFull, CellStyle::kStarred, CellStyle::kShort}) {
    const Table table(schedule, style);
    if (table.width() <= columns) return table;
  }
  return std::nullopt;
}

std::string why_there_are_no_tables(const Schedule& schedule, std::size_t columns) {
  const std::string reason =
      table_lines(schedule) > kMostTableLines
          ? fmt::format("have {} lines, and at most {} are shown", table_lines(schedule), kMostTableLines)
          : fmt::format("do not fit {} columns here", columns);
  return fmt::format("The tables of who holds what {}{}.\n", reason,
                     json_says_who_holds_what(schedule) ? "; --format json has them" : "");
}

}  // namespace

std::string draw_text(const Schedule& schedule, int columns) {
  require_in_range(schedule);
  const auto width = static_cast<std::size_t>(std::max(columns, 40));
  const auto table = fitting_table(schedule, width);
  std::string text = fmt::format("{}: {}\n", schedule.name, summary_of(schedule));
  text += table ? table->legend(width) : why_there_are_no_tables(schedule, width);
  std::optional<Board> board;
  if (table) {
    board.emplace(schedule);
    text += "\nstart\n" + table->draw(*board);
  }
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    text += fmt::format("\nstep {}\n", i) + transfers_of(schedule.steps[i], width);
    if (!table) continue;
    board->carry_out(schedule.steps[i]);
    text += table->draw(*board);
  }
  return text;
}

}  // namespace lockstep
