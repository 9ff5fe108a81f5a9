// Stands in for reduce.cpp where Highway is absent.
#include "kernels/copy.h"
#include "kernels/reduce.h"

#include <cstring>

namespace lockstep::kernels {

void reduce(const ReduceArguments& arguments) { reduce_scalar(arguments); }

void copy(void* target, const void* source, std::size_t bytes, bool) {
  if (bytes != 0) std::memcpy(target, source, bytes);
}

}  // namespace lockstep::kernels
