#include "cli/command.h"

namespace lockstep::cli {

void add_run(Program&) {}

}  // namespace lockstep::cli
