#pragma once

#include "schedule/schedule.h"

#include <string>

namespace lockstep {

/// A picture in text: for each step what moves, then who holds what: ranks as columns, chunks as rows, in each cell
/// whose contributions it has ("0+1+2"; "*" where all of them, "." where nothing). Where the table would be wider than
/// `columns`, runs of ranks are shortened ("0-6"); if that does not help, the tables are left out and a sentence says
/// so. The schedule need not be proved. Throws Error (kRefused) if something in it is out of range.
std::string draw_text(const Schedule& schedule, int columns = 120);

/// The same for programs: an object with "name", "collective", "ranks", "chunks", "root", "start" and "steps". Each
/// step has its "transfers" ("kind", "chunk", "from", "to") and, as "start" is, what is then held: "holds"[chunk][rank]
/// is a list of contributions. "start" and "holds" are left out of a schedule whose lists would have more than a
/// million entries. Throws Error (kRefused) if something in it is out of range.
std::string draw_json(const Schedule& schedule);

}  // namespace lockstep
