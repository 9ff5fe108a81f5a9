#include "cli/command.h"

namespace lockstep::cli {

void add_info(Program&) {}

}  // namespace lockstep::cli
