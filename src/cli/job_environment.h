#pragma once

namespace lockstep::cli {

/// Throws Error (kInvalidArgument) that names it for a variable whose value no rank of a job that is started from here
/// would take: better said once than by each of them.
void check_job_environment();

}  // namespace lockstep::cli
