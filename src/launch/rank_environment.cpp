#include "launch/rank_environment.h"

#include "base/environment.h"
#include "base/secret.h"
#include "launch/openblas.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace lockstep {

namespace {

// Freed gradients are unmapped and faulted in again by default, which costs 50 to 75 ms an iteration for 42 M
// parameters. glibc 2.36 takes both numbers as they are, beyond what mallopt's own default ceiling suggests: ten rounds
// of 64 MiB malloc, fill, free take 163,851 page faults without them, 163,553 with the first alone, 16,385 with both.
constexpr const char* kAllocatorTunables =
    "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967295";

// Forward and backward run on two threads, each with OpenMP threads of its own, and those of the one that waits would
// by default spin on the cores that the other needs. `lockstep train text -n 1` with nanoGPT's CPU setting and two
// threads on two cores takes 50 to 269 ms an iteration where they spin, 45 to 65 where they sleep.
constexpr const char* kWaitPolicy = "passive";

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

class Variables {
 public:
  explicit Variables(std::vector<std::string> variables) : variables_(std::move(variables)) {}

  void set(std::string_view name, std::string_view value) {
    std::erase_if(variables_, [&](const std::string& variable) { return name_of(variable) == name; });
    variables_.push_back(fmt::format("{}={}", name, value));
  }
  void set(std::string_view name, int value) { set(name, std::to_string(value)); }

  void set_if_absent(std::string_view name, std::string_view value) {
    const auto same = [&](const std::string& variable) { return name_of(variable) == name; };
    if (std::none_of(variables_.begin(), variables_.end(), same)) set(name, value);
  }

  /// Empty where it is not set.
  std::string_view value_of(std::string_view name) const {
    for (const std::string& variable : variables_) {
      if (name_of(variable) == name) return std::string_view(variable).substr(name.size() + 1);
    }
    return {};
  }

  std::vector<std::string> take() { return std::move(variables_); }

 private:
  std::vector<std::string> variables_;
};

std::string random_id() {
  std::array<unsigned char, 16> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) throw_system_error("getrandom");
  std::string id;
  for (const unsigned char byte : bytes) id += fmt::format("{:02x}", byte);
  return id;
}

}  // namespace

Job make_job(int ranks, const CpuCount& cpus) {
  const HeldPort port = hold_port();  // only until here: who listens there may not set SO_REUSEADDR
  return {.id = random_id(),
          .port = port.number,
          .ranks = ranks,
          .cpus = cpus.threads,
          .threads = std::max(1, cpus.cores / ranks),
          .openblas_core_type = openblas_core_type(openblas_choice(), processor_flags()),
          .meeting_port = hold_port(),
          .secret = Secret::make().inheritable()};
}

std::vector<std::string> rank_environment(const Job& job, int rank, const std::vector<std::string>& inherited) {
  Variables variables(inherited);
  variables.set("RANK", rank);
  variables.set("WORLD_SIZE", job.ranks);
  variables.set("LOCAL_RANK", rank);
  variables.set("LOCAL_WORLD_SIZE", job.ranks);
  variables.set("MASTER_ADDR", "127.0.0.1");
  variables.set("MASTER_PORT", job.port);
  variables.set(kJobVariable, job.id);
  variables.set(kCpusVariable, job.cpus);
  variables.set(kPortVariable, job.meeting_port.number);
  variables.set(kSecretDescriptorVariable, job.secret.get());
  variables.set_if_absent("OMP_NUM_THREADS", std::to_string(job.threads));
  const std::string threads(variables.value_of("OMP_NUM_THREADS"));
  for (const char* name : {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) variables.set_if_absent(name, threads);
  variables.set_if_absent("OMP_WAIT_POLICY", kWaitPolicy);
  if (!job.openblas_core_type.empty()) variables.set_if_absent("OPENBLAS_CORETYPE", job.openblas_core_type);
  variables.set_if_absent("GLIBC_TUNABLES", kAllocatorTunables);
  return variables.take();
}

std::vector<std::string> current_environment() {
  std::vector<std::string> variables;
  for (char** variable = ::environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  return variables;
}

}  // namespace lockstep
