// What is kept of a DistilBERT beside its weights, and what is said of those that it begins with.
#include "lab/sst2/task.h"

#include "lab/sst2/test_sst2.h"
#include "tests/processes/command.h"

#include <gmock/gmock.h>
#include <lockstep/safetensors.h>
#include <lockstep/world.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <sstream>

namespace lockstep::lab {

namespace {
namespace fs = std::filesystem;
}
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Sst2TaskTest : public Sst2Test {
 protected:
  /// Does something with the task of these arguments, whose model is made.
  void with_task(const std::vector<std::string>& more, const std::function<void(Sst2Task&)>& use) const {
    run_threads(1, [&](World& world) {
      Sst2Task task(parse_sst2(arguments(more)));
      Sharded sharded(world, {.stage = 0});
      const auto model = task.make_model(world, sharded);
      use(task);
    });
  }
  void save(const std::vector<std::string>& more = {}) const {
    with_task(more, [&](Sst2Task& task) { task.save(best_); });
  }
  std::string remark() const {
    std::string said;
    with_task({}, [&](Sst2Task& task) {
      task.load_weights();
      said = task.remark();
    });
    return said;
  }
  /// Of the weights those whose names do not end so, and a tensor more.
  void change_weights(const std::string& without, const std::string& more) const {
    const fs::path path = folder_ / "weights" / "model.safetensors";
    const SafetensorsFile file(path);
    std::vector<std::pair<std::string, torch::Tensor>> tensors = {{more, torch::zeros({2})}};
    for (const std::string& name : file.names()) {
      if (!name.ends_with(without)) tensors.emplace_back(name, file.tensor(name));
    }
    write_safetensors(path, tensors);
  }

  const fs::path best_ = folder_ / "best";
};

constexpr const char* kTokenizerJson = R"({"normalizer": {"type": "BertNormalizer", "clean_text": true,
  "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "model": {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
            "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "good": 4, "bad": 5}}})";

TEST_F(Sst2TaskTest, KeepsOneVocabularyByTheNameThatOthersLookFor) {
  const std::string words = read_file(folder_ / "data" / "vocab.txt");
  write("my-words.txt", words);
  save({"--vocabulary", (folder_ / "my-words.txt").string()});
  EXPECT_EQ(read_file(best_ / "vocab.txt"), words);
  EXPECT_FALSE(fs::exists(best_ / "my-words.txt"));

  write("other.json", kTokenizerJson);
  save({"--vocabulary", (folder_ / "other.json").string()});
  EXPECT_EQ(read_file(best_ / "tokenizer.json"), kTokenizerJson);
  EXPECT_FALSE(fs::exists(best_ / "vocab.txt"));

  save();
  EXPECT_FALSE(fs::exists(best_ / "tokenizer.json"));
  EXPECT_EQ(find_vocabulary({.data = (folder_ / "data").string(), .weights = best_.string()}), best_ / "vocab.txt");
}

TEST_F(Sst2TaskTest, KeepsTheVocabularyThatWasReadEvenIfItGoes) {
  const std::string words = read_file(folder_ / "data" / "vocab.txt");
  with_task({}, [&](Sst2Task& task) {
    fs::remove(folder_ / "data" / "vocab.txt");
    task.save(best_);
  });
  EXPECT_EQ(read_file(best_ / "vocab.txt"), words);
}

TEST_F(Sst2TaskTest, KeepsTheRulesOfItsVocabulary) {
  save();
  EXPECT_TRUE(read_wordpiece(best_ / "vocab.txt").rules.lowercase);
  write("data/tokenizer_config.json", R"({"do_lower_case": false})");
  save();
  const WordRules rules = read_wordpiece(best_ / "vocab.txt").rules;
  EXPECT_FALSE(rules.lowercase);
  EXPECT_FALSE(rules.strip_accents);
  EXPECT_TRUE(rules.handle_chinese_chars);
}

TEST_F(Sst2TaskTest, SaysHowManySentencesAreCutAndWhy) {
  const auto said = [&](const std::vector<std::string>& more) {
    return Sst2Task(parse_sst2(arguments(more))).announcement();
  };
  EXPECT_THAT(said({}), AllOf(HasSubstr("48 sentences to learn from, 21 to judge by"), Not(HasSubstr("cut"))));
  EXPECT_THAT(said({"--max-tokens=9"}), HasSubstr("; 11 sentences cut to 9 tokens, as --max-tokens says"));
  std::string words;
  for (int i = 0; i < 15; ++i) words += "good ";
  write("data/dev.tsv", "sentence\tlabel\n" + words + "\t1\n");
  EXPECT_THAT(said({"--max-tokens=20"}),
              HasSubstr("; 1 sentence cut to 16 tokens, all that the model has positions for"));
}

/// Prints of each sentence of argv[2] its tokens and what the model in argv[1] makes of it.
constexpr const char* kLogits = R"(
import sys
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
model = AutoModelForSequenceClassification.from_pretrained(sys.argv[1]).eval()
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
for line in list(open(sys.argv[2]))[1:]:
    tokens = tokenizer(line.split('\t')[0], return_tensors='pt')
    with torch.no_grad():
        logits = model(input_ids=tokens['input_ids'], attention_mask=tokens['attention_mask']).logits
    print(*tokens['input_ids'][0].tolist(), '=', *['%.9g' % logit for logit in logits[0].tolist()])
)";

TEST_F(Sst2TaskTest, TransformersHasTheSameLogitsFromWhatWasKept) {
  if (!testing_support::python_has("torch, transformers")) {
    GTEST_SKIP() << "LOCKSTEP_PYTHON (or python3) has no packages torch and transformers";
  }
  std::map<std::string, std::pair<double, double>> ours;  // by tokens, as kLogits prints them
  with_task({}, [&](Sst2Task& task) {
    task.load_weights();
    task.save(best_);
    run_threads(1, [&](World& world) {
      const torch::NoGradGuard no_grad;
      const auto loader = task.evaluation_loader(world);
      for (const Batch& batch : loader->epoch()) {
        const torch::Tensor logits = task.logits(batch);
        for (std::int64_t row = 0; row < batch.samples; ++row) {
          std::string tokens;
          for (std::int64_t i = 0; i < batch.lengths[row].item<std::int64_t>(); ++i) {
            tokens += std::to_string(batch.data[row][i].item<std::int64_t>()) + " ";
          }
          ours[tokens] = {logits[row][0].item<double>(), logits[row][1].item<double>()};
        }
      }
    });
  });
  const auto theirs = testing_support::run_command(
      {testing_support::python(), "-c", kLogits, best_.string(), (folder_ / "data" / "dev.tsv").string()});
  ASSERT_EQ(theirs.code, 0) << theirs.errors;
  std::istringstream lines(theirs.output);
  int rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const std::string tokens = line.substr(0, line.find('='));
    ASSERT_TRUE(ours.count(tokens)) << line << ": cut into other tokens";
    const auto [negative, positive] = ours[tokens];
    double their_negative = 0, their_positive = 0;
    std::istringstream(line.substr(tokens.size() + 1)) >> their_negative >> their_positive;
    const double largest = std::max(std::abs(their_negative), std::abs(their_positive));
    EXPECT_NEAR(negative, their_negative, 1e-5 * largest) << line;
    EXPECT_NEAR(positive, their_positive, 1e-5 * largest) << line;
  }
  EXPECT_EQ(rows, 21);
}

TEST_F(Sst2TaskTest, SaysWhatItsWeightsDidNotDecide) {
  EXPECT_EQ(remark(), "");
  change_weights("none", "vocab_transform.bias");
  EXPECT_THAT(remark(), AllOf(HasSubstr("not used: vocab_transform.bias"), Not(HasSubstr("classifier"))));
  change_weights("classifier.bias", "cls.bias");
  EXPECT_THAT(refusal_of([&] { remark(); }), HasSubstr("no tensors for 'pre_classifier.bias', 'classifier.bias'"));
  change_weights("classifier.weight", "bert.pooler.bias");
  EXPECT_THAT(remark(), AllOf(HasSubstr("weights of " + (folder_ / "weights").string()),
                              HasSubstr("no classifier, which begins anew; not used: "), HasSubstr("cls.bias"),
                              HasSubstr("vocab_transform.bias"), HasSubstr("bert.pooler.bias")));
}

}  // namespace lockstep::lab
