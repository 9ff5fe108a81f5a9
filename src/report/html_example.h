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
    record.items_per_second = 10000 + i;
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

/// The same with all that a report can show: accuracy, hidden time, wait for data, predictions, memory, a timeline.
inline ReportPage full_report(int iterations) {
  ReportPage page = example_report(iterations);
  page.run.title = "sst2: DistilBERT, small";
  page.run.item = "sentences";
  for (IterationRecord& record : page.iterations) {
    record.training_accuracy = 1 - record.loss / 8;
    if (record.validation_loss) record.validation_accuracy = 0.95 - *record.validation_loss / 8;
    record.hidden_ms = 2.5;
    record.data_wait_ms = 0.75;
    for (BucketRecord& bucket : record.buckets) {
      bucket.operation = "all_reduce";
      bucket.phase = "backward";
      bucket.steps = 2 + 4 * bucket.index;
      bucket.wire_bytes = bucket.bytes * 3 / 2;
      bucket.predicted_ms = 0.45;
    }
  }
  page.memory = {{"parameters", 3 << 20, 3 << 20},
                 {"gradients", 3 << 20, (3 << 20) + 4096},
                 {"optimizer state", 3 << 20, 5 << 19},
                 {"gathered", 1 << 18, 1 << 18}};
  for (int rank = 0; rank < 4; ++rank) {
    const std::int64_t at = 1'000'000 + 150 * rank;
    for (const TimelineSpan& span : std::vector<TimelineSpan>{{rank, "data", "compute", at, at + 700},
                                                              {rank, "forward", "compute", at + 700, at + 3300},
                                                              {rank, "backward", "compute", at + 3300, at + 8900},
                                                              {rank, "bucket 1", "communication", at + 4600, at + 6100},
                                                              {rank, "bucket 0", "communication", at + 5800, at + 9600},
                                                              {rank, "clip", "compute", at + 9650, at + 9800},
                                                              {rank, "optimizer", "compute", at + 9800, at + 10900}}) {
      page.timeline.push_back(span);
    }
  }
  return page;
}

}  // namespace lockstep
