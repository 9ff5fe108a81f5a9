#pragma once

#include "report/html.h"

#include <cmath>

namespace lockstep {

/// A report for tests: a loss that falls from 4 to 2, a validation loss each 50 iterations, two buckets each 10.
inline ReportPage example_report(int iterations) {
  ReportPage page;
  page.run = {
      "text: GPT, 4 layers", "lockstep train text -n 2", 2, 804096, iterations, {{"width", "128"}, {"seed", "7"}}};
  for (int i = 1; i <= iterations; ++i) {
    IterationRecord record;
    record.iteration = i;
    record.loss = 2 + 2 * std::exp(-5.0 * i / iterations);
    record.gradient_norm = 1 + 1.0 / i;
    record.learning_rate = 1e-3;
    record.compute_ms = 9;
    record.exposed_ms = 1;
    record.tokens_per_second = 10000 + i;
    record.algorithm = "direct";
    if (i % 50 == 0) record.validation_loss = record.loss + 0.25;
    if (i % 10 == 0) {
      record.buckets = {{0, {"head.weight", "head.bias"}, 1 << 20, "direct", 0.5, true},
                        {1, {"embedding.weight"}, 2048, "ring", i % 20 == 0 ? 0.2 : 0.4, i % 20 == 0}};
    }
    page.iterations.push_back(record);
  }
  page.sample = "ROMEO:\nWhat say you?";
  page.trace_path = "runs/trace.json";
  page.total_seconds = 61.4;
  return page;
}

}  // namespace lockstep
