#include "transport/mpi/here.h"

#include "transport/mpi/library.h"

#include <lockstep/error.h>

namespace lockstep::mpi {

/// Opens the library, and with it MPI, but does not start MPI.
std::optional<std::string> why_not_here() {
  try {
    (void)library();
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace lockstep::mpi
