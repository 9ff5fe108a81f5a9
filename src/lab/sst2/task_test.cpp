// What is kept of a DistilBERT beside its weights, and what is said of those that it begins with.
#include "lab/sst2/task.h"

#include "lab/sst2/test_sst2.h"

#include <gmock/gmock.h>
#include <lockstep/safetensors.h>
#include <lockstep/world.h>

#include <functional>

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
