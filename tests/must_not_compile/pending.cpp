// CASE says which line of misuse stands among the right ones.
#include <lockstep/comm.h>

#include <vector>

void misuse(const lockstep::Group& group) {
  std::vector<float> values(8);
  lockstep::Pending pending = group.all_reduce(lockstep::buffer_of(values));
#if CASE == 1
  group.all_reduce(lockstep::buffer_of(values));  // nobody can wait for it
#elif CASE == 2
  lockstep::Pending copy = pending;  // two would wait for one
#elif CASE == 3
  std::vector<char*> pointers(8);
  pending = group.all_reduce(lockstep::buffer_of(pointers));
#endif
  pending.wait();
}
