#include "group/identity.h"

#include "base/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace lockstep {

namespace {

/// A launcher's variables. Where it has none for the local size, the world is taken to be on one host.
struct Launcher {
  const char* name;
  bool is_mpi;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
  std::array<const char*, 4> job;  ///< together they identify the job; unset ones are passed over
};

constexpr const char* kSlurmRank = "SLURM_PROCID";
constexpr const char* kSlurmTasks = "SLURM_STEP_TASKS_PER_NODE";
constexpr const char* kSlurmStep = "SLURM_STEP_ID";
constexpr const char* kSlurmStepSize = "SLURM_STEP_NUM_TASKS";

constexpr std::array<Launcher, 4> kLaunchers{{
    {"torchrun",
     false,
     "RANK",
     "WORLD_SIZE",
     "LOCAL_RANK",
     "LOCAL_WORLD_SIZE",
     {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT"}},
    {"ompi",
     true,
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     {"PMIX_NAMESPACE", "OMPI_MCA_orte_hnp_uri", nullptr, nullptr}},
    {"mpich",
     true,
     "PMI_RANK",
     "PMI_SIZE",
     "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS",
     {"PMI_JOBID", nullptr, nullptr, nullptr}},
    {"slurm",
     false,
     kSlurmRank,
     "SLURM_NTASKS",
     "SLURM_LOCALID",
     "SLURM_NTASKS_PER_NODE",
     {"SLURM_JOB_ID", kSlurmStep, nullptr, nullptr}},
}};

/// Whether this process is of its job. Slurm gives a job's size, and rank 0, to the shells of sbatch and salloc too;
/// only what srun starts is of a step.
bool has_started_this(const Launcher& launcher, const Lookup& lookup) {
  const bool is_of_no_step = !lookup(kSlurmStep) && !lookup(kSlurmStepSize);
  if (launcher.rank == kSlurmRank && is_of_no_step) return false;
  return lookup(launcher.rank) || lookup(launcher.size);
}

class Reader {
 public:
  explicit Reader(const Lookup& lookup) : lookup_(lookup) {}

  int number(const char* name, std::optional<int> fallback = std::nullopt) const {
    const auto text = lookup_(name);
    if (!text && fallback) return *fallback;
    if (!text) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("The launcher set no {}; start the program with lockstep run, "
                              "torchrun, mpirun or srun, or unset its other variables.",
                              name));
    }
    return whole_number(name, *text);
  }

  std::string job(const Launcher& launcher, int parent) const {
    if (const auto own = lookup_(kJobVariable)) return *own;
    std::string job;
    for (const char* name : launcher.job) {
      if (name == nullptr) continue;
      if (const auto part = lookup_(name)) job += "-" + *part;
    }
    return launcher.name + (job.empty() ? fmt::format("-parent-{}", parent) : job);
  }

 private:
  const Lookup& lookup_;
};

void check_range(const Identity& identity, const Launcher& launcher) {
  if (identity.size >= 1 && identity.rank >= 0 && identity.rank < identity.size) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{} is {} and {} is {}; a rank lies between 0 and the size less 1.", launcher.rank,
                          identity.rank, launcher.size, identity.size));
}

void check_local_size(const Identity& identity) {
  if (identity.local_size >= 1 && identity.local_size <= identity.size) return;
  throw Error(ErrorCode::kInvalidArgument, fmt::format("{}; of {} ranks in all, 1 to {} are on this machine.",
                                                       identity.local_size_from, identity.size, identity.size));
}

/// That it fits the ranks which are said to be here is not asked: a wrong word on those only chooses the transport.
void check_local_rank(const Identity& identity, const char* variable) {
  if (identity.local_rank >= 0 && identity.local_rank < identity.size) return;
  throw Error(ErrorCode::kInvalidArgument, fmt::format("{} is {}; of {} ranks it lies between 0 and {}.", variable,
                                                       identity.local_rank, identity.size, identity.size - 1));
}

std::optional<int> count_in(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count < 1) return std::nullopt;
  return count;
}

/// "2(x3)", of a list as srun writes it: three nodes with two tasks each.
struct TasksOfNodes {
  int tasks = 0;
  int nodes = 1;
};
std::optional<TasksOfNodes> tasks_in(std::string_view part) {
  const std::size_t times = part.find("(x");
  const bool has_end = times == std::string_view::npos || part.ends_with(')');
  const auto tasks = count_in(part.substr(0, times));
  if (!tasks || !has_end) return std::nullopt;
  if (times == std::string_view::npos) return TasksOfNodes{.tasks = *tasks};
  const auto nodes = count_in(part.substr(times + 2, part.size() - times - 3));
  return nodes ? std::optional(TasksOfNodes{*tasks, *nodes}) : std::nullopt;
}

/// Of the list "2(x3),1": the tasks of a node, from 0 on.
int tasks_on_node(std::string_view list, int node) {
  std::int64_t first = 0;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const auto part = tasks_in(list.substr(at, end - at));
    if (!part) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{} is '{}', which is no list of tasks as srun writes it, such as 4(x2),3; start the "
                              "program with srun, or unset it.",
                              kSlurmTasks, list));
    }
    first += part->nodes;
    if (node >= 0 && node < first) return part->tasks;
    at = end + 1;
  }
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{} is '{}' and SLURM_NODEID is {}; the list has no such node. Start the program with srun, "
                          "or unset both.",
                          kSlurmTasks, list, node));
}

std::string said_by(const char* name, const std::optional<std::string>& value) {
  return value ? fmt::format("{} is {}", name, *value) : fmt::format("{} is not set", name);
}

}  // namespace

Identity identify(const Lookup& lookup, int parent) {
  const Reader reader(lookup);
  for (Launcher launcher : kLaunchers) {
    if (!has_started_this(launcher, lookup)) continue;
    // Where srun leaves the job's own variables as they are (--preserve-env), SLURM_NTASKS is the job's.
    if (launcher.rank == kSlurmRank && lookup(kSlurmStepSize)) launcher.size = kSlurmStepSize;
    Identity identity;
    identity.by_mpi = launcher.is_mpi;
    identity.rank = reader.number(launcher.rank);
    identity.size = reader.number(launcher.size);
    check_range(identity, launcher);
    identity.local_size = reader.number(launcher.local_size, identity.size);
    identity.local_size_from = said_by(launcher.local_size, lookup(launcher.local_size));
    const auto by_node = lookup(kSlurmTasks);
    // srun may give ranks their numbers as an MPI's launcher does (PMI-2), and nothing but its own words on the node.
    const bool by_srun = by_node && (launcher.rank == kSlurmRank || (launcher.is_mpi && !lookup(launcher.local_size)));
    if (by_srun) {
      identity.local_size = tasks_on_node(*by_node, reader.number("SLURM_NODEID", 0));
      identity.local_size_from = said_by(kSlurmTasks, by_node);
    }
    check_local_size(identity);
    const char* const local_rank = by_srun ? "SLURM_LOCALID" : launcher.local_rank;
    identity.local_rank = reader.number(local_rank, identity.rank % identity.local_size);
    check_local_rank(identity, local_rank);
    if (identity.size > 1) identity.job = reader.job(launcher, parent);
    return identity;
  }
  return {};
}

std::string name_of_group(const Identity& identity) {
  if (identity.world_ranks.empty()) return "";
  return fmt::format("the group of the world's ranks {}", fmt::join(identity.world_ranks, ", "));
}

std::string of_which_group(const Identity& identity) {
  const std::string name = name_of_group(identity);
  return name.empty() ? "" : " of " + name;
}

Identity identify_from_environment() { return identify(environment, ::getppid()); }

}  // namespace lockstep
