#pragma once

#include "transport/mpi/calls.h"

namespace lockstep::mpi {

/// An MPI, as rank 0 of 2 with 100 tags, that takes every message at once and brings none.
inline Calls calls_that_bring_nothing() {
  static int sent = 0;  // what marks a request as one that is complete
  return {.start = [](Started* started, long) -> const char* {
            *started = {.rank = 0, .size = 2, .most_tag = 100};
            return nullptr;
          },
          .send = [](Request* request, const Outgoing*) -> const char* {
            request->value = &sent;
            return nullptr;
          },
          .receive = [](Request*, void*, std::size_t, int, int) -> const char* { return nullptr; },
          .test = [](Request* request, int* complete, std::size_t*, int*) -> const char* {
            *complete = request->value == &sent ? 1 : 0;
            return nullptr;
          },
          .cancel_receive = [](Request*) { return 1; },
          .forget_send = [](Request*) { return 1; },
          .make_communicator = [](int*, const int*, int, int) -> const char* { return "MPI says: none is left"; },
          .begin = [](Request*, int, const WholeCollective*) -> const char* { return "MPI says: it cannot"; },
          .count_open = [](int) {}};
}

}  // namespace lockstep::mpi
