#include "cli/command.h"

namespace lockstep::cli {

void add_prove(Program&) {}

}  // namespace lockstep::cli
