#pragma once

#include "lab/classifier/task.h"

#include <lockstep/world.h>

#include <functional>
#include <memory>
#include <string>

namespace lockstep::lab {

/// A whole training of the classifier that `make` makes of the input, from reading to the report, as one rank of the
/// world. `command` is shown as typed. Throws what `make` and ClassifierTraining throw. Collective.
void run_classifier(const World& world, const std::string& command,
                    const std::function<std::unique_ptr<ClassifierTask>()>& make);

}  // namespace lockstep::lab
