#include "cli/command.h"

namespace lockstep::cli {

void add_train(Program&) {}

}  // namespace lockstep::cli
