#include "planner/calibration/calibrated_timing.h"

#include <lockstep/error.h>

#include <memory>
#include <optional>
#include <utility>

namespace lockstep {

namespace {

std::function<double(const HostOperation&)> model_of(const Calibration& calibration, Medium medium, Schedule schedule) {
  switch (medium) {
    case Medium::kSharedMemory:
      return [model = calibration.shm, machine = calibration.machine,
              job = std::make_shared<const HostJob>(std::move(schedule))](const HostOperation& operation) {
        return model.predict(*job, operation, machine);
      };
    case Medium::kTcp:
      return [model = calibration.tcp.model, job = std::make_shared<const TcpJob>(std::move(schedule))](
                 const HostOperation& operation) { return model.predict(*job, operation.bytes); };
    case Medium::kMpi: break;
  }
  throw Error(ErrorCode::kInvalidArgument, "A calibration tells times over shared memory and TCP only.");
}

}  // namespace

CalibratedTiming::CalibratedTiming(const Calibration& calibration, Medium medium, Schedule schedule)
    : residuals_(medium == Medium::kTcp ? ResidualCurve(calibration.tcp.samples, schedule, std::nullopt)
                                        : ResidualCurve(calibration.samples, schedule, calibration.machine)) {
  predicted_ = model_of(calibration, medium, std::move(schedule));
}

double CalibratedTiming::seconds(const HostOperation& operation) const {
  const double predicted = predicted_(operation);
  return operation.touched_between > 0 ? predicted : predicted * residuals_.factor(operation.bytes);
}

}  // namespace lockstep
