#include "cli/command.h"

namespace lockstep::cli {

void add_show(Program&) {}

}  // namespace lockstep::cli
