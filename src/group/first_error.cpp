#include "group/first_error.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace lockstep::detail {

namespace {

// What a join throws is a whole sentence of its own, and what a peer is told goes into one.
Error out_of_memory_on(int rank) {
  return {ErrorCode::kOutOfMemory, fmt::format("rank {} ran out of memory", rank), {.rank = rank, .peer = rank}};
}

}  // namespace

FirstError::FirstError(const Identity& identity, Engine& engine)
    : identity_(identity), engine_(engine), out_of_memory_(out_of_memory_on(identity.rank)) {}

Error FirstError::as_error(const std::exception& thrown) const {
  if (const auto* const error = dynamic_cast<const Error*>(&thrown)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr) return out_of_memory_;
  return {ErrorCode::kTransport,
          fmt::format("rank {} threw: {}", identity_.rank, thrown.what()),
          {.rank = identity_.rank, .peer = identity_.rank}};
}

void FirstError::leave(const char* why) noexcept {
  std::exception_ptr left;
  try {
    const std::string what = fmt::format("rank {} left the group: {}", identity_.rank, why);
    engine_.fail({ErrorCode::kPeerLeft, what, {.peer = identity_.rank}});
    left = std::make_exception_ptr(Error(ErrorCode::kPeerLeft,
                                         fmt::format("Rank {}{}: {}.", identity_.rank, of_which_group(identity_), what),
                                         {.rank = identity_.rank, .peer = identity_.rank}));
  } catch (const std::bad_alloc&) {
    engine_.fail(out_of_memory_);
    left = std::make_exception_ptr(out_of_memory_);
  }
  if (!error_) error_ = std::move(left);
}

}  // namespace lockstep::detail
