#pragma once

#include "launch/process.h"
#include "launch/signals.h"

#include <exception>
#include <string>
#include <vector>

namespace lockstep::study {

/// A signal ended the study; what it had started has ended too.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  const char* what() const noexcept override { return "interrupted"; }
  int signal() const { return signal_; }

 private:
  int signal_;
};

struct ChildPlan {
  std::vector<std::string> command;           ///< the program, as a path or to be found along PATH, and its arguments
  std::vector<std::string> environment = {};  ///< "NAME=value", in place of ours of that name
};

struct ChildResult {
  int exit_code = 0;  ///< 128 + the number of the signal that ended it
  std::string output;
  std::string errors;
};

/// Runs programs, one after another. While it lives, signals that would end this process end its child instead, and
/// then throw: so what a study made is removed by who made it. A child does not outlive this process.
class Children {
 public:
  /// Throws Interrupted, and Error: kInvalidArgument if there is no such program, kTransport if the system gives no
  /// process.
  ChildResult run(const ChildPlan& plan);
  /// What it printed. Throws as run(), and Error with what it said last where it failed: kInvalidArgument if it exits
  /// with 2, as our programs do for wrong input, else kUnsupported.
  std::string output_of(const ChildPlan& plan);
  /// Throws Interrupted if a signal has come since: for what takes long between two children.
  void check();

 private:
  void answer_signals();
  void signal_child(int signal) const;

  Signals signals_;
  Process child_;
  int interrupted_by_ = 0;
  int sent_ = 0;  ///< signals to the child
};

}  // namespace lockstep::study
