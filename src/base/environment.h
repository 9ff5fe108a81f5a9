#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace lockstep {

/// The variables that this project reads of its own; `lockstep info` prints them.
inline constexpr const char* kJobVariable = "LOCKSTEP_JOB";          ///< identity of the job, made by the launcher
inline constexpr const char* kCpusVariable = "LOCKSTEP_CPUS";        ///< how many of this host its ranks share
inline constexpr const char* kTimeoutVariable = "LOCKSTEP_TIMEOUT";  ///< how long an operation waits ("10min")
inline constexpr const char* kJoinTimeoutVariable =
    "LOCKSTEP_JOIN_TIMEOUT";  ///< how long ranks wait for each other at start
inline constexpr const char* kTransportVariable = "LOCKSTEP_TRANSPORT";         ///< "auto", "shm", "tcp" or "mpi"
inline constexpr const char* kAddressVariable = "LOCKSTEP_ADDRESS";             ///< where this rank listens over TCP
inline constexpr const char* kPortVariable = "LOCKSTEP_PORT";                   ///< where rank 0 listens over TCP
inline constexpr const char* kSecretDescriptorVariable = "LOCKSTEP_SECRET_FD";  ///< holds the job's secret
inline constexpr const char* kSecretFileVariable = "LOCKSTEP_SECRET_FILE";      ///< holds the job's secret
inline constexpr const char* kHostVariable = "LOCKSTEP_HOST";                   ///< the host that this rank is on
inline constexpr const char* kMpiLibraryVariable = "LOCKSTEP_MPI_LIBRARY";      ///< where liblockstep-mpi.so is
inline constexpr const char* kReductionVariable = "LOCKSTEP_REDUCTION";         ///< "fast" or "canonical"
inline constexpr const char* kAlgorithmVariable = "LOCKSTEP_ALGORITHM";         ///< what "auto" stands for
inline constexpr const char* kAlgorithmsVariable = "LOCKSTEP_ALGORITHMS";       ///< which algorithm at which size

/// A variable's value; none if unset or empty.
std::optional<std::string> environment(const char* name);
/// The value `text` of the variable `name` as a whole number. Throws Error (kInvalidArgument) naming both.
int whole_number(const char* name, const std::string& text);
/// A duration ("10s") of a millisecond or more, `fallback` if unset. Throws Error (kInvalidArgument) naming the
/// variable and its value.
std::chrono::milliseconds environment_duration(const char* name, std::chrono::milliseconds fallback);

}  // namespace lockstep
