#pragma once

#include "lab/classifier/task.h"
#include "lab/sst2/distilbert.h"
#include "lab/sst2/distilbert_weights.h"
#include "lab/sst2/examples.h"
#include "lab/sst2/options.h"
#include "lab/sst2/wordpiece.h"

#include <filesystem>
#include <memory>
#include <string>

namespace lockstep::lab {

/// DistilBERT on SST-2.
class Sst2Task : public ClassifierTask {
 public:
  /// Reads the input. Throws Error (kInvalidArgument) with file, line or tensor and what is wrong.
  explicit Sst2Task(Sst2Options options);

  const ClassifierOptions& options() const override { return options_.common; }
  RunRecord describe() const override;
  nlohmann::json settings() const override { return options_.settings; }
  std::string announcement() const override;
  std::string remark() const override;
  std::int64_t examples() const override { return training_->size(); }

  std::shared_ptr<torch::nn::Module> make_model(const Group& group, Sharded& sharded) override;
  void load_weights() override;
  std::unique_ptr<torch::optim::Optimizer> make_optimizer(const Sharded& sharded) override;
  torch::Tensor logits(const Batch& batch) override;
  std::unique_ptr<Loader> training_loader(const Group& group, std::int64_t batch) override;
  std::unique_ptr<Loader> evaluation_loader(const Group& group) override;
  /// config.json, model.safetensors and the tokenizer's files, for Hugging Face's from_pretrained.
  void save(const std::filesystem::path& folder) const override;

 private:
  /// Of a sentence, at most.
  std::int64_t max_tokens() const;

  Sst2Options options_;
  DistilBertConfig config_;
  TokenizerFiles tokenizer_;
  WeightsReport loaded_;
  std::shared_ptr<const Examples> training_;
  std::shared_ptr<const Examples> evaluation_;
  DistilBert model_ = nullptr;
};

/// The file that is given or, if none is, vocab.txt or tokenizer.json in the folder of weights, of data, or beside the
/// latter in bert-base-uncased. Throws Error (kInvalidArgument) with these folders if there is none.
std::filesystem::path find_vocabulary(const Sst2Settings& settings);

}  // namespace lockstep::lab
