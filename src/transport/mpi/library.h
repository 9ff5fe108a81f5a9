#pragma once

#include "transport/mpi/calls.h"

namespace lockstep::mpi {

/// Opens liblockstep-mpi.so, once a process: LOCKSTEP_MPI_LIBRARY, else beside the program, in the library folder of
/// the program's installation, or where the system looks. Throws Error (kUnsupported) that says where it was looked
/// for.
const Calls& library();

}  // namespace lockstep::mpi
