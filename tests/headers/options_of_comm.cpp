// Who compiles with -Wextra and names some options is told of none that were left out: each member has a default.
#include <lockstep/comm.h>

#pragma GCC diagnostic error "-Wmissing-field-initializers"

void name_some(const lockstep::Group& group) {
  group.barrier({.algorithm = "tree"}).wait();
  group.barrier({.purpose = "the end"}).wait();
  predict_by(group, {.alpha_s = 1e-5, .beta_s = 1e-9});
}
