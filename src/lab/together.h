#pragma once

#include <lockstep/group.h>

#include <exception>
#include <functional>

namespace lockstep::lab {

/// Another rank failed and says why; this one has nothing to add and ends with the same exit code.
class FailedElsewhere : public std::exception {
 public:
  explicit FailedElsewhere(int exit_code) : exit_code_(exit_code) {}
  const char* what() const noexcept override { return "another rank failed and says why"; }
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

/// What a program that ends with this exception exits with: 2 for wrong input (kInvalidArgument), 1 for anything else.
int exit_code_of(const std::exception& error);

/// Does on every rank what may fail on some (reading input, writing a file), and goes on only if it failed on none.
/// Else the lowest rank that failed throws its error, and all others FailedElsewhere: a reason is said once.
/// Collective.
void together(const Group& group, const std::function<void()>& work);

}  // namespace lockstep::lab
