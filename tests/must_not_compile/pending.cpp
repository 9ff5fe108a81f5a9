// CASE says which line of misuse stands among the right ones.
#include <lockstep/comm.h>

#include <vector>

static_assert(lockstep::data_type_of<long>() == lockstep::data_type_of<std::int64_t>());
static_assert(lockstep::data_type_of<long long>() == lockstep::DataType::kInt64);

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
#elif CASE == 4
  const std::vector<float> constants(8);
  pending = group.send(lockstep::buffer_of(constants.data(), constants.size()), 1);
#elif CASE == 5
  std::vector<double> doubles(8);
  pending = group.all_reduce({doubles.data(), doubles.size()});
#endif
  pending.wait();
}
