#pragma once

#include "schedule/schedule.h"

#include <string>

namespace lockstep {

/// A picture in text: for each step what moves, then who holds what: ranks as columns, chunks as rows, in each cell
/// whose contributions it has ("a1+b1+c1"; "." where nothing). Where the table would be wider than `columns`, cells
/// that have all of them become "*", then runs of ranks are shortened ("a-g"); if that does not help, the tables are
/// left out and a sentence says why, as of more than 20000 lines of them. The schedule need not be proved. Throws Error
/// (kRefused) if something in it is out of range.
std::string draw_text(const Schedule& schedule, int columns = 120);

/// The same as a picture, a whole SVG file: ranks as columns, steps from the top down, a box a chunk that fills as
/// contributions arrive, an arrow a transfer (solid for reduce, dashed for copy). Of a schedule that would not fit a
/// page the first chunks and steps are drawn, and the picture says so; it is never a megabyte. Throws Error: kRefused
/// if something is out of range, kInvalidArgument for more than 64 ranks.
std::string draw_svg(const Schedule& schedule);

/// The same for programs: an object with "name", "collective", "ranks", "chunks", "root", "start" and "steps". Each
/// step has its "transfers" ("kind", "chunk", "from", "to") and, as "start" is, what is then held: "holds"[chunk][rank]
/// is a list of contributions. "start" and "holds" are left out of a schedule whose lists would have more than a
/// million entries. Throws Error (kRefused) if something in it is out of range.
std::string draw_json(const Schedule& schedule);
/// Whether "start" and "holds" are in it.
bool json_says_who_holds_what(const Schedule& schedule);

}  // namespace lockstep
