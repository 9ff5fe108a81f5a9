// As options_of_comm.cpp, of trainings.
#include <lockstep/train.h>

#pragma GCC diagnostic error "-Wmissing-field-initializers"

void name_some(const lockstep::Group& group, torch::nn::Module& module) {
  lockstep::DataParallel(group, module, {.overlap = false});
  lockstep::DataParallel(group, module, {.static_graph = true});
  lockstep::Sharded(group, module, {.stage = 2});
  lockstep::LocalSgd(group, module, {.period = 4});
}
lockstep::LoaderOptions some_of_a_loader() { return {.global_batch = 8, .seed = 7}; }
lockstep::MirroredOptions some_of_replicas() { return {.computing_threads = 2}; }
