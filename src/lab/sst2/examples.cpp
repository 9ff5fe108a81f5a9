#include "lab/sst2/examples.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <numeric>

namespace lockstep::lab {

Examples::Examples(const std::vector<Sentence>& sentences, const WordPiece& wordpiece, std::int64_t max_tokens)
    : padding_(wordpiece.padding()) {
  const auto longest = static_cast<std::size_t>(max_tokens);
  for (const Sentence& sentence : sentences) {
    std::vector<std::int32_t> tokens = wordpiece.encode_for_bert(sentence.text);
    if (tokens.size() > longest) {
      tokens[longest - 1] = tokens.back();
      tokens.resize(longest);
      ++cut_;
    }
    tokens_.push_back(std::move(tokens));
    labels_.push_back(sentence.label);
  }
}

std::vector<std::int64_t> Examples::lengths() const {
  std::vector<std::int64_t> lengths;
  for (const auto& tokens : tokens_) lengths.push_back(static_cast<std::int64_t>(tokens.size()));
  return lengths;
}

void Examples::sort_by_length() {
  std::vector<std::size_t> order(tokens_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [this](std::size_t a, std::size_t b) { return tokens_[a].size() < tokens_[b].size(); });
  Examples sorted = *this;
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted.tokens_[i] = tokens_[order[i]];
    sorted.labels_[i] = labels_[order[i]];
  }
  *this = std::move(sorted);
}

torch::data::Example<> Examples::fetch(const std::vector<std::size_t>& indices) const {
  const auto samples = static_cast<std::int64_t>(indices.size());
  std::size_t longest = 0;
  for (const std::size_t index : indices) longest = std::max(longest, tokens_.at(index).size());
  torch::Tensor tokens = torch::full({samples, static_cast<std::int64_t>(longest)}, padding_, torch::kInt64);
  torch::Tensor labels = torch::empty({samples}, torch::kInt64);
  for (std::int64_t row = 0; row < samples; ++row) {
    const std::size_t index = indices[static_cast<std::size_t>(row)];
    std::copy(tokens_[index].begin(), tokens_[index].end(),
              tokens.data_ptr<std::int64_t>() + row * static_cast<std::int64_t>(longest));
    labels.data_ptr<std::int64_t>()[row] = labels_[index];
  }
  return {tokens, labels};
}

}  // namespace lockstep::lab
