#pragma once

#include "lab/folder_for_tests.h"
#include "lab/refusal_for_tests.h"
#include "lab/sst2/distilbert_weights.h"

#include <torch/utils.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::lab {

/// A test with a folder of its own, in it reviews of which it is easy to tell what they think (`data`), with a
/// vocabulary, and a small DistilBERT without dropout (`weights`).
class Sst2Test : public FolderTest {
 protected:
  Sst2Test() {
    std::filesystem::create_directory(folder_ / "data");
    std::filesystem::create_directory(folder_ / "weights");
    write("data/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\ngood\nbad\nfine\npoor\nthe\nfilm\nis\nvery\n");
    write("data/train.tsv", reviews(48));
    write("data/dev.tsv", reviews(21));
    torch::manual_seed(3);
    const DistilBert model(config());
    write_config(config(), folder_ / "weights" / "config.json");
    save_weights(*model, folder_ / "weights" / "model.safetensors");
  }
  static DistilBertConfig config() {
    return {.vocabulary = 12,
            .positions = 16,
            .width = 8,
            .layers = 2,
            .heads = 2,
            .feed_forward = 16,
            .dropout = 0,
            .attention_dropout = 0,
            .classifier_dropout = 0,
            .initial_deviation = 0.2};
  }

  /// A file of reviews of 1 to 9 words, of which the last one decides.
  static std::string reviews(int count) {
    constexpr std::array<const char*, 4> kVerdicts = {"good", "bad", "fine", "poor"};
    std::string all = "sentence\tlabel\n";
    for (int i = 0; i < count; ++i) {
      for (int word = 0; word < i % 3; ++word) all += "the film is ";
      for (int word = 0; word < i % 2; ++word) all += "very ";
      const int verdict = i * 7 % 4;
      all += std::string(kVerdicts.at(verdict)) + "\t" + (verdict % 2 == 0 ? "1" : "0") + "\n";
    }
    return all;
  }

  /// Of a training of that model; later ones override earlier ones.
  std::vector<std::string> arguments(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"--data",          (folder_ / "data").string(),
                                    "--weights",       (folder_ / "weights").string(),
                                    "--out",           (folder_ / "out").string(),
                                    "--batch",         "6",
                                    "--iterations",    "10",
                                    "--learning-rate", "1e-3"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

}  // namespace lockstep::lab
