#pragma once

#include <lockstep/group.h>
#include <lockstep/link.h>

#include <cstddef>
#include <optional>

namespace lockstep {

/// What one operation on registered memory of so many bytes is predicted to take here, from when all ranks have come to
/// it, by the algorithm that would run. By the link that predict_by() was given; else, where ranks share memory or talk
/// over TCP on one host, by what `lockstep calibrate` stored for this machine. None where neither is known (or what is
/// stored cannot be read), in a group of one, and for a schedule too large to be priced at once. Each call takes up to
/// some milliseconds, so keep what is asked for in every step. Throws Error (kInvalidArgument) for a name that no
/// algorithm has. Local.
std::optional<double> predicted_ms(const Group& group, Collective collective, std::size_t bytes,
                                   const OperationOptions& options = {}, DataType dtype = DataType::kFloat32);

/// From here on predicted_ms() on this rank is of operations in a training of a model of so many bytes of parameters:
/// between two of them a rank touches parameters, gradients and the optimizer's state, so that where ranks share memory
/// less of the buffers is left in the caches. DataParallel and the sharded stages say so of their groups.
void predict_in_training(const Group& group, std::size_t model_bytes);

/// From here on predicted_ms() on this rank follows this link: each message of a step takes alpha + bytes * beta, all
/// that a rank sends goes through one port, and what has come of a message is handed on while the rest arrives. With
/// measured_link() for a network that nobody calibrated. Throws Error (kInvalidArgument) for times that are none: below
/// 0, infinite or no number.
void predict_by(const Group& group, const Link& link);
/// That link; none if it was given none.
std::optional<Link> given_link(const Group& group);

}  // namespace lockstep
