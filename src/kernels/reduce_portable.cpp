// Stands in for reduce.cpp where Highway is absent.
#include "kernels/reduce.h"

namespace lockstep::kernels {

void reduce(const ReduceArguments& arguments) { reduce_scalar(arguments); }

}  // namespace lockstep::kernels
