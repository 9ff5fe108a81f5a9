// `lockstep train sst2` as a person uses it: real processes, and everything that can be wrong with the input.
#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace lockstep {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::Command;
using testing_support::Result;
using testing_support::run_command;

namespace fs = std::filesystem;

class Sst2Command : public testing_support::TemporaryFolder {
 protected:
  using Arguments = std::vector<std::string>;

  Sst2Command() {
    fs::create_directory(folder_ / "data");
    put("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\ngood\nbad\nfilm\n");
    put("train.tsv", "sentence\tlabel\ngood film\t1\nbad film\t0\nbad\t0\ngood\t1\n");
    put("dev.tsv", "sentence\tlabel\ngood good film\t1\nbad bad\t0\nfilm\t0\n");
  }

  void put(const std::string& name, const std::string& content) {
    write("data/" + name, content, fs::perms::owner_read | fs::perms::owner_write);
  }

  Result start(const Arguments& arguments) const {
    return run_command(arguments, {.environment = {"OMP_NUM_THREADS=1"}});
  }
  Result train(int ranks, const Arguments& more) {
    Arguments all = {
        LOCKSTEP_PROGRAM, "train",         "sst2",    "-n", std::to_string(ranks), "--data", folder_ / "data",
        "--out",          folder_ / "out", "--batch", "4"};
    all.insert(all.end(), more.begin(), more.end());
    return start(all);
  }
  /// Says one sentence, exits with 2 and leaves nothing behind.
  void expect_refused(const Result& result, const std::string& why) const {
    EXPECT_EQ(result.code, 2) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr(why));
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
    EXPECT_EQ(result.output, "");
    EXPECT_FALSE(fs::exists(folder_ / "out"));
  }
};

TEST_F(Sst2Command, EndsWithAModelAReportAndATrace) {
  const Result result = train(2, {"--preset=tiny", "--iterations=30", "--eval-every=10", "--every=10", "--jsonl",
                                  folder_ / "log.jsonl", "--log-sync"});
  ASSERT_EQ(result.code, 0) << result.errors;
  for (const char* said : {"sst2: DistilBERT, 1 layer, 32 wide", "4 sentences to learn from, 3 to judge by", "2 ranks",
                           "iteration 10 ", "iteration 30 ", "loss", "validation accuracy", "sentences/s",
                           "best accuracy", "of 3) at iteration", "out/best", "out/report.html", "out/trace.json"}) {
    EXPECT_THAT(result.output, HasSubstr(said));
  }
  for (const char* file : {"best/config.json", "best/model.safetensors", "best/vocab.txt", "best/tokenizer_config.json",
                           "report.html", "trace.json", "settings.json"}) {
    EXPECT_TRUE(fs::exists(folder_ / "out" / file)) << file;
  }
  const auto summary = nlohmann::json::parse(read(folder_ / "out" / "summary.json"));
  EXPECT_EQ(summary["ranks"], 2);
  EXPECT_EQ(summary["memory"][0]["kind"], "parameters");
  EXPECT_EQ(summary["memory"][0]["measured_bytes"], 4 * summary["parameters"].get<int>());
  const std::string lines = read(folder_ / "log.jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 30);
  const auto last = nlohmann::json::parse(lines.substr(lines.find_last_of('\n', lines.size() - 2) + 1));
  EXPECT_TRUE(last.contains("validation_accuracy")) << last;
}

TEST_F(Sst2Command, ReadsItsInputAndDoesNothingElseWhereThatIsAsked) {
  const Result result = train(2, {"--preset=tiny", "--check"});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_EQ(result.output + result.errors, "");
  EXPECT_FALSE(fs::exists(folder_ / "out"));
  put("dev.tsv", "sentence\tlabel\ngood film\n");
  expect_refused(train(2, {"--preset=tiny", "--check"}), "dev.tsv: line 2");
}

TEST_F(Sst2Command, WhatWasKeptTrainsOnAndARunGoesOn) {
  ASSERT_EQ(train(2, {"--preset=tiny", "--iterations=4", "--checkpoint-every=2"}).code, 0);
  const Result resumed =
      start({LOCKSTEP_PROGRAM, "train", "sst2", "-n", "1", "--resume", folder_ / "out", "--iterations=6", "--stage=3"});
  EXPECT_EQ(resumed.code, 0) << resumed.errors;
  EXPECT_THAT(resumed.output, AllOf(HasSubstr("after 4 iterations"), HasSubstr("iteration 6 ")));
  const Result weights = start({LOCKSTEP_PROGRAM, "train", "sst2", "--data", folder_ / "data", "--weights",
                                folder_ / "out" / "best", "--out", folder_ / "next", "--iterations=2"});
  EXPECT_EQ(weights.code, 0) << weights.errors;
  const Result unwritable = start({LOCKSTEP_PROGRAM, "train", "sst2", "-n", "2", "--resume", folder_ / "out",
                                   "--iterations=8", "--out", "/dev/null/runs"});
  EXPECT_EQ(unwritable.code, 2);
  EXPECT_THAT(unwritable.errors, HasSubstr("--out /dev/null/runs cannot be written"));
  EXPECT_EQ(std::count(unwritable.errors.begin(), unwritable.errors.end(), '\n'), 1) << unwritable.errors;
}

/// Prints what the model in argv[1] makes of the sentences in argv[2]: the mean cross entropy, and how many are right.
constexpr const char* kJudge = R"(
import sys
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
model = AutoModelForSequenceClassification.from_pretrained(sys.argv[1]).eval()
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
rows = [line.rstrip('\n').split('\t') for line in open(sys.argv[2])][1:]
tokens = tokenizer([sentence for sentence, _ in rows], padding=True, return_tensors='pt')
labels = torch.tensor([int(label) for _, label in rows])
with torch.no_grad():
    logits = model(input_ids=tokens['input_ids'], attention_mask=tokens['attention_mask']).logits
print(torch.nn.functional.cross_entropy(logits, labels).item(), (logits.argmax(1) == labels).sum().item())
)";

TEST_F(Sst2Command, TransformersJudgesByWhatWasKeptAsWeDid) {
  if (!testing_support::python_has("torch, transformers")) {
    GTEST_SKIP() << "LOCKSTEP_PYTHON (or python3) has no packages torch and transformers";
  }
  put("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\nfilm\n##s\n,\n");
  put("dev.tsv", "sentence\tlabel\nFilms, good films\t1\nB\u00e0d\t0\nno film\t0\nbad , good\t1\ngood film\t1\n");
  ASSERT_EQ(train(2, {"--preset=tiny", "--iterations=30", "--eval-every=5", "--jsonl", folder_ / "log.jsonl"}).code, 0);
  nlohmann::json best = {{"validation_accuracy", -1}};
  std::istringstream log(read(folder_ / "log.jsonl"));
  for (std::string line; std::getline(log, line);) {
    const auto record = nlohmann::json::parse(line);
    if (record.value("validation_accuracy", -1.0) > best["validation_accuracy"]) best = record;
  }
  const Result judged =
      run_command({testing_support::python(), "-c", kJudge, folder_ / "out" / "best", folder_ / "data" / "dev.tsv"});
  ASSERT_EQ(judged.code, 0) << judged.errors;
  std::istringstream said(judged.output);
  double loss = 0, correct = 0;
  said >> loss >> correct;
  EXPECT_NEAR(loss, best["validation_loss"].get<double>(), 1e-5);
  EXPECT_EQ(correct / 5, best["validation_accuracy"].get<double>());
}

TEST_F(Sst2Command, TheClassifierBeginsAnewIfNothingOfItIsThere) {
  const Arguments make = {LOCKSTEP_PROGRAM, "train",          "sst2",  "--data",        folder_ / "data",
                          "--preset=tiny",  "--iterations=1", "--out", folder_ / "made"};
  ASSERT_EQ(start(make).code, 0);
  const fs::path model = folder_ / "made" / "best";
  std::string weights = read(model / "model.safetensors");
  // To names of another head, as long as these.
  const auto rename = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = weights.find(from, at)) != std::string::npos;) weights.replace(at, from.size(), to);
    write("made/best/model.safetensors", weights, fs::perms::owner_all);
  };
  rename("\"pre_classifier.", "\"cls.classifier.");
  expect_refused(train(2, {"--weights", model}), "no tensors for 'pre_classifier.weight', 'pre_classifier.bias'");
  rename("\"classifier.", "\"cls.sifier.");
  const Result result = train(2, {"--weights", model, "--iterations=1"});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("no classifier, which begins anew; not used: "),
                                   HasSubstr("cls.classifier.weight"), HasSubstr("cls.sifier.bias")));
}

TEST_F(Sst2Command, SaysInOneSentenceWhatIsWrongWithItsInput) {
  const std::string header = "sentence\tlabel\n";
  const auto with_train = [&](const std::string& content, const std::string& why) {
    put("train.tsv", content);
    SCOPED_TRACE(why);
    expect_refused(train(2, {"--preset=tiny"}), why);
  };
  with_train(header + "good film\n", "train.tsv: line 2");
  with_train(header + "good film\tyes\n", "train.tsv: line 2");
  with_train(header + "good \xff film\t1\n", "UTF-8");
  with_train("sentence\tlabel\r\ngood film\t1\r\n", "train.tsv: line 1");
  with_train(header + "good film\t1\n\nbad\t0\n", "train.tsv: line 3: it is empty");
  with_train(header, "train.tsv");
  fs::remove(folder_ / "data" / "train.tsv");
  expect_refused(train(2, {"--preset=tiny"}), "train.tsv");
}

TEST_F(Sst2Command, SaysInOneSentenceWhatIsWrongWithItsModel) {
  ASSERT_EQ(start({LOCKSTEP_PROGRAM, "train", "sst2", "--data", folder_ / "data", "--preset=tiny", "--iterations=1",
                   "--out", folder_ / "made"})
                .code,
            0);
  const fs::path model = folder_ / "made" / "best";
  const Arguments with_weights = {"--weights", model};

  const std::string config = read(model / "config.json");
  const auto with_config = [&](const char* what, const char* other, const std::string& why) {
    std::string changed = config;
    changed.replace(changed.find(what), std::string(what).size(), other);
    write("made/best/config.json", changed, fs::perms::owner_all);
    SCOPED_TRACE(why);
    expect_refused(train(2, with_weights), why);
    write("made/best/config.json", config, fs::perms::owner_all);
  };
  with_config("\"distilbert\"", "\"gpt2\"", "its model_type is 'gpt2'");
  with_config(
      "\"dim\": 32", "\"dim\": 64",
      "model.safetensors: its tensor 'distilbert.embeddings.word_embeddings.weight' is of shape [7, 32], and the "
      "model's is [7, 64]");
  with_config("\"1\": \"LABEL_1\"", "\"1\": \"LABEL_1\", \"2\": \"LABEL_2\"", "tells 3 classes apart");

  const std::string weights = read(model / "model.safetensors");
  write("made/best/model.safetensors", weights.substr(0, weights.size() / 2), fs::perms::owner_all);
  expect_refused(train(2, with_weights), "model.safetensors is no valid safetensors file (MetadataIncompleteBuffer)");
  write("made/best/model.safetensors", weights, fs::perms::owner_all);

  put("vocab.txt", "[PAD]\n[CLS]\n[SEP]\ngood\n");
  expect_refused(train(2, {"--preset=tiny"}), "vocab.txt: it has no token [UNK]");
  put("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\n");
  expect_refused(train(2, {"--weights", model, "--vocabulary", folder_ / "data" / "vocab.txt"}), "has 8 tokens");
}

TEST_F(Sst2Command, SaysInOneSentenceWhatIsWrongWithItsFlags) {
  expect_refused(train(2, {"--preset=huge"}), "There is no --preset huge");
  expect_refused(train(2, {"--preset=tiny", "--stage=7"}), "--stage must be 0, 1, 2 or 3");
  expect_refused(train(2, {"--preset=tiny", "--algorithm=rign"}), "rign");
  expect_refused(train(2, {"--preset=tiny", "--jsonl", folder_ / "none" / "log.jsonl"}),
                 "none/log.jsonl cannot be written: No such file or directory");
  expect_refused(train(2, {"--preset=tiny", "--tensorboard=/dev/null/events"}),
                 "--tensorboard /dev/null/events cannot be written: Not a directory");
  expect_refused(start({LOCKSTEP_PROGRAM, "train", "sst"}), "Did you mean 'sst2'?");
  expect_refused(start({LOCKSTEP_PROGRAM, "train", "sst2"}), "--data is needed");
}

}  // namespace lockstep
