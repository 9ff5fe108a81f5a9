// The model beside Hugging Face's (tests/lab/make_distilbert_reference.py), and the files that it reads and writes.
#include "lab/sst2/distilbert.h"

#include "lab/refusal_for_tests.h"
#include "lab/sst2/distilbert_weights.h"
#include "tests/processes/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/safetensors.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/init.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cstdlib>
#include <fstream>

namespace lockstep::lab {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

DistilBertConfig small() {
  DistilBertConfig config;
  config.vocabulary = 48;
  config.positions = 12;
  config.width = 16;
  config.layers = 2;
  config.heads = 4;
  config.feed_forward = 24;
  return config;
}

using Tensors = std::vector<std::pair<std::string, torch::Tensor>>;

class DistilBertFiles : public testing_support::TemporaryFolder {
 protected:
  DistilBertFiles() : reference_(LOCKSTEP_SOURCE_DIR "/tests/lab/distilbert_reference.safetensors") {}

  /// The reference's weights, as a model's own file.
  Tensors weights(torch::ScalarType type = torch::kFloat32) const {
    Tensors tensors;
    for (const std::string& name : reference_.names()) {
      if (name.rfind("weight.", 0) == 0) tensors.emplace_back(name.substr(7), reference_.tensor(name).to(type));
    }
    return tensors;
  }
  fs::path write_model(const Tensors& tensors) const {
    write_safetensors(folder_ / "model.safetensors", tensors);
    return folder_ / "model.safetensors";
  }
  torch::Tensor is_token() const { return torch::arange(9).unsqueeze(0).lt(reference_.tensor("lengths").unsqueeze(1)); }

  SafetensorsFile reference_;
};

/// Of the difference, over that of what is expected.
double difference(const torch::Tensor& value, const torch::Tensor& expected) {
  return ((value - expected).norm() / expected.norm()).item<double>();
}

TEST_F(DistilBertFiles, ComputesWhatHuggingFaceDoes) {
  DistilBert model(small());
  const WeightsReport report = load_weights(*model, write_model(weights()));
  EXPECT_THAT(report.drawn, IsEmpty());
  EXPECT_THAT(report.unused, IsEmpty());
  model->eval();
  const torch::Tensor logits = model(reference_.tensor("tokens"), is_token());
  EXPECT_LE(difference(logits, reference_.tensor("logits")), 1e-5);
  const torch::Tensor loss = torch::nn::functional::cross_entropy(logits, reference_.tensor("labels"));
  EXPECT_NEAR(loss.item<double>(), reference_.tensor("loss").item<double>(), 1e-5);
  loss.backward();
  int compared = 0;
  for (const auto& parameter : model->named_parameters()) {
    const torch::Tensor expected = reference_.tensor("gradient." + parameter.key());
    // A key's bias moves all scores of a query alike, so its gradient is rounding and nothing else.
    if (parameter.key().find("k_lin.bias") != std::string::npos) {
      EXPECT_LE(parameter.value().grad().norm().item<double>(), 1e-6) << parameter.key();
    } else {
      EXPECT_LE(difference(parameter.value().grad(), expected), 1e-5) << parameter.key();
    }
    ++compared;
  }
  EXPECT_EQ(compared, 40);
}

TEST_F(DistilBertFiles, PaddingDoesNotCount) {
  DistilBert model(small());
  load_weights(*model, write_model(weights()));
  model->eval();
  const torch::Tensor tokens = reference_.tensor("tokens");
  const torch::Tensor alone = model(tokens.slice(0, 1, 2).slice(1, 0, 4), torch::ones({1, 4}, torch::kBool));
  EXPECT_LE(difference(alone, reference_.tensor("logits").slice(0, 1, 2)), 1e-5);
  const torch::Tensor unmasked = model(tokens, torch::ones({3, 9}, torch::kBool));
  EXPECT_GT(difference(unmasked, reference_.tensor("logits")), 1e-3) << "the comparison sees a mask that is not used";
}

TEST_F(DistilBertFiles, ReadsSixteenBits) {
  for (const auto& [type, tolerance] : {std::pair(torch::kFloat16, 1e-2), std::pair(torch::kBFloat16, 1e-1)}) {
    DistilBert model(small());
    load_weights(*model, write_model(weights(type)));
    model->eval();
    EXPECT_EQ(model->parameters()[0].scalar_type(), torch::kFloat32);
    EXPECT_LE(difference(model(reference_.tensor("tokens"), is_token()), reference_.tensor("logits")), tolerance);
  }
}

TEST_F(DistilBertFiles, WritesWhatItReads) {
  DistilBert model(small());
  load_weights(*model, write_model(weights()));
  save_weights(*model, folder_ / "saved.safetensors");
  const SafetensorsFile saved(folder_ / "saved.safetensors");
  EXPECT_EQ(saved.metadata().at("format"), "pt");
  EXPECT_THAT(saved.names(), SizeIs(weights().size()));
  for (const auto& [name, value] : weights()) EXPECT_TRUE(torch::equal(saved.tensor(name), value)) << name;
}

TEST_F(DistilBertFiles, TheFirstNamesOfNormsAreRead) {
  Tensors tensors = weights();
  int renamed = 0;
  for (auto& [name, value] : tensors) {
    const std::size_t norm =
        name.find("ayer_norm.") != std::string::npos ? name.find("ayer_norm.") : name.find("ayerNorm.");
    if (norm == std::string::npos) continue;
    const bool is_weight = name.rfind(".weight") != std::string::npos;
    name = name.substr(0, name.rfind('.')) + (is_weight ? ".gamma" : ".beta");
    ++renamed;
  }
  ASSERT_GE(renamed, 4);
  DistilBert model(small());
  EXPECT_THAT(load_weights(*model, write_model(tensors)).drawn, testing::IsEmpty());
}

TEST_F(DistilBertFiles, APretrainedFileLeavesTheClassifierAsDrawn) {
  Tensors tensors = weights();
  std::erase_if(tensors, [](const auto& tensor) { return tensor.first.find("classifier.") != std::string::npos; });
  tensors.emplace_back("vocab_transform.weight", torch::zeros({16, 16}));
  tensors.emplace_back("distilbert.embeddings.position_ids", torch::zeros({1, 12}, torch::kInt64));  // of some versions
  DistilBert model(small());
  const torch::Tensor drawn = model->named_parameters()["classifier.weight"].clone();
  const WeightsReport report = load_weights(*model, write_model(tensors));
  EXPECT_THAT(report.drawn, testing::UnorderedElementsAre("pre_classifier.weight", "pre_classifier.bias",
                                                          "classifier.weight", "classifier.bias"));
  EXPECT_THAT(report.unused,
              testing::UnorderedElementsAre("vocab_transform.weight", "distilbert.embeddings.position_ids"));
  EXPECT_TRUE(torch::equal(model->named_parameters()["classifier.weight"], drawn));
}

TEST_F(DistilBertFiles, NamesATensorThatDoesNotFit) {
  DistilBert model(small());
  EXPECT_THAT(refusal_of([&] { load_weights(*model, folder_ / "absent.safetensors"); }),
              HasSubstr("absent.safetensors: there is no such file"));
  const auto refusal = [&](const Tensors& tensors) {
    const auto file = write_model(tensors);
    const std::string text = refusal_of([&] { load_weights(*model, file); });
    EXPECT_THAT(text, HasSubstr("model.safetensors: "));
    return text;
  };
  const auto before = model->named_parameters()["classifier.weight"].clone();
  const std::string name = "distilbert.transformer.layer.1.ffn.lin1.weight";
  Tensors missing = weights();
  std::erase_if(missing, [&](const auto& tensor) { return tensor.first == name; });
  EXPECT_THAT(refusal(missing), HasSubstr("no tensor for '" + name + "'"));
  Tensors wrong = missing;
  wrong.emplace_back(name, torch::zeros({24, 8}));
  EXPECT_THAT(refusal(wrong), HasSubstr("'" + name + "' is of shape [24, 8], and the model's is [24, 16]"));
  Tensors whole = missing;
  whole.emplace_back(name, torch::zeros({24, 16}, torch::kInt64));
  EXPECT_THAT(refusal(whole), HasSubstr("'" + name + "' is of type I64"));
  Tensors further = weights();
  further.emplace_back("distilbert.transformer.layer.2.ffn.lin1.weight", torch::zeros({24, 16}));
  EXPECT_THAT(refusal(further), HasSubstr("'distilbert.transformer.layer.2.ffn.lin1.weight' is no part of the model"));
  EXPECT_TRUE(torch::equal(model->named_parameters()["classifier.weight"], before)) << "nothing was changed";
  std::ofstream(folder_ / "cut.safetensors") << "short";
  EXPECT_THAT(refusal_of([&] { load_weights(*model, folder_ / "cut.safetensors"); }), HasSubstr("cut.safetensors"));
  fs::create_directory(folder_ / "folder.safetensors");
  EXPECT_THAT(refusal_of([&] { load_weights(*model, folder_ / "folder.safetensors"); }), HasSubstr("Is a directory"));
  Tensors partly = weights();
  std::erase_if(partly, [&](const auto& tensor) { return tensor.first == "classifier.bias"; });
  EXPECT_THAT(refusal(partly), HasSubstr("a part of the classifier and no tensors for 'classifier.bias'"));
}

/// What BERT calls a tensor of DistilBERT's.
std::string name_in_bert(std::string name) {
  const std::vector<std::pair<std::string, std::string>> parts = {{"distilbert.", "bert."},
                                                                  {"transformer.layer", "encoder.layer"},
                                                                  {"attention.q_lin", "attention.self.query"},
                                                                  {"attention.k_lin", "attention.self.key"},
                                                                  {"attention.v_lin", "attention.self.value"},
                                                                  {"attention.out_lin", "attention.output.dense"},
                                                                  {"sa_layer_norm", "attention.output.LayerNorm"},
                                                                  {"ffn.lin1", "intermediate.dense"},
                                                                  {"ffn.lin2", "output.dense"},
                                                                  {"output_layer_norm", "output.LayerNorm"}};
  for (const auto& [ours, theirs] : parts) {
    if (const std::size_t at = name.find(ours); at != std::string::npos) name.replace(at, ours.size(), theirs);
  }
  return name;
}

TEST_F(DistilBertFiles, TheTypesOfABertAreAddedIfTheyFit) {
  Tensors bert;
  torch::Tensor positions;
  for (const auto& [name, value] : weights()) {
    bert.emplace_back(name_in_bert(name), value);
    if (name.find("position_embeddings") != std::string::npos) positions = value;
  }
  DistilBert model(small());
  const auto load_with = [&](const torch::Tensor& types) {
    Tensors all = bert;
    if (types.defined()) all.emplace_back("bert.embeddings.token_type_embeddings.weight", types);
    load_weights(*model, write_model(all));
  };
  const torch::Tensor types = torch::arange(32, torch::kFloat32).view({2, 16});
  load_with(types);
  const std::string ours = "distilbert.embeddings.position_embeddings.weight";
  EXPECT_TRUE(torch::equal(model->named_parameters()[ours], positions + types[0]));
  const auto refusal = [&](const torch::Tensor& wrong) { return refusal_of([&] { load_with(wrong); }); };
  EXPECT_THAT(refusal({}), HasSubstr("model.safetensors: it has no tensor for "
                                     "'bert.embeddings.token_type_embeddings.weight'"));
  EXPECT_THAT(refusal(torch::zeros({2, 8})), HasSubstr("model.safetensors: its tensor "
                                                       "'bert.embeddings.token_type_embeddings.weight' is of shape "
                                                       "[2, 8], and must be of [types, 16]"));
  EXPECT_THAT(refusal(torch::zeros({2, 1})), HasSubstr("is of shape [2, 1]"));
  EXPECT_THAT(refusal(torch::zeros({16})), HasSubstr("is of shape [16]"));
}

class SmallBert : public DistilBertFiles, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Layers, SmallBert, testing::Values("tiny-bert-1layer", "tiny-bert-2layer"),
                         [](const auto& test) { return std::string(test.param).substr(10, 1); });

TEST_P(SmallBert, IsReadByItsOwnNames) {
  const char* data = std::getenv("LOCKSTEP_TEST_DATA");
  const fs::path folder = fs::path(data ? data : "") / GetParam();
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << GetParam() << ": set LOCKSTEP_TEST_DATA";
  const DistilBertConfig config = read_config(folder / "config.json");
  EXPECT_EQ(config.width, 32);
  DistilBert model(config);
  const WeightsReport report = load_weights(*model, folder / "model.safetensors");
  EXPECT_THAT(report.drawn, SizeIs(4));
  model->eval();
  // A classifier that says what the encoder gave it, where that is positive.
  const torch::NoGradGuard no_grad;
  auto parameters = model->named_parameters();
  parameters["pre_classifier.weight"].copy_(torch::eye(32));
  const torch::Tensor expected = torch::relu(reference_.tensor(GetParam()));
  const torch::Tensor tokens = torch::tensor({{2, 17, 40, 5, 3, 0, 0}});
  for (std::int64_t i = 0; i < 32; ++i) {
    parameters["classifier.weight"].zero_();
    parameters["classifier.weight"][0][i] = 1;
    EXPECT_NEAR(model(tokens, tokens.ne(0))[0][0].item<double>(), expected[i].item<double>(), 1e-5) << i;
  }
}

TEST(DistilBert, HasTheSizeOfThePublishedOne) {
  EXPECT_EQ(parameter_count(DistilBertConfig{}), 66'955'010);
  DistilBert model(small());
  std::int64_t count = 0;
  for (const auto& parameter : model->parameters()) count += parameter.numel();
  EXPECT_EQ(count, parameter_count(small()));
}

TEST(DistilBert, HasTheNormsOfItsConfig) {
  DistilBertConfig config = small();
  config.norm_epsilon = 0.25;
  const DistilBert model(config);
  std::vector<double> found;
  for (const auto& module : model->modules()) {
    if (const auto* norm = module->as<torch::nn::LayerNorm>()) found.push_back(norm->options.eps());
  }
  EXPECT_THAT(found, ElementsAre(0.25, 0.25, 0.25, 0.25, 0.25));
}

class ConfigOfBert : public testing_support::TemporaryFolder {
 protected:
  fs::path write_config(const std::string& content) const {
    std::ofstream(folder_ / "config.json") << content;
    return folder_ / "config.json";
  }
  std::string refusal(const std::string& content) const {
    const auto file = write_config(content);
    const std::string text = refusal_of([&] { read_config(file); });
    EXPECT_THAT(text, HasSubstr("config.json"));
    return text;
  }
};

constexpr const char* kSizes =
    R"("vocab_size": 100, "max_position_embeddings": 64, "dim": 32, "n_layers": 1, "n_heads": 4, "hidden_dim": 48)";

TEST_F(ConfigOfBert, IsHonoured) {
  const auto config =
      read_config(write_config(std::string(R"({"model_type": "distilbert", "dropout": 0.3, "attention_dropout": 0,
        "seq_classif_dropout": 0.4, "pad_token_id": 7, "id2label": {"0": "a", "1": "b", "2": "c"}, )") +
                               kSizes + "}"));
  EXPECT_EQ(config.vocabulary, 100);
  EXPECT_EQ(config.positions, 64);
  EXPECT_EQ(config.width, 32);
  EXPECT_EQ(config.layers, 1);
  EXPECT_EQ(config.heads, 4);
  EXPECT_EQ(config.feed_forward, 48);
  EXPECT_EQ(config.dropout, 0.3);
  EXPECT_EQ(config.attention_dropout, 0);
  EXPECT_EQ(config.classifier_dropout, 0.4);
  EXPECT_EQ(config.padding, 7);
  EXPECT_EQ(config.labels, 3);
  EXPECT_THAT(config.label_names, ElementsAre("a", "b", "c"));
  EXPECT_EQ(config.norm_epsilon, 1e-12);
}

TEST_F(ConfigOfBert, OfABertIsHonouredAndComesBack) {
  const auto file = write_config(R"({"model_type": "bert", "vocab_size": 100, "max_position_embeddings": 64,
    "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 48,
    "layer_norm_eps": 1e-5, "position_embedding_type": "absolute", "id2label": {"0": "NEGATIVE", "1": "POSITIVE"}})");
  const DistilBertConfig config = read_config(file);
  EXPECT_EQ(config.norm_epsilon, 1e-5);
  lab::write_config(config, file);
  const DistilBertConfig again = read_config(file);
  EXPECT_EQ(again.norm_epsilon, 1e-5);
  EXPECT_EQ(again.width, 32);
  EXPECT_THAT(again.label_names, ElementsAre("NEGATIVE", "POSITIVE"));
  EXPECT_THAT(read(file), HasSubstr(R"("POSITIVE": 1)")) << "in label2id";
  lab::write_config(small(), file);
  EXPECT_THAT(read_config(file).label_names, ElementsAre("LABEL_0", "LABEL_1"));
}

TEST_F(ConfigOfBert, RefusesOtherModels) {
  const auto with = [](const std::string& more) { return R"({"model_type": "distilbert", )" + more + kSizes + "}"; };
  EXPECT_THAT(refusal(R"({"model_type": "gpt2"})"), HasSubstr("model_type is 'gpt2'"));
  EXPECT_THAT(refusal("{}"), HasSubstr("it has no model_type; it takes distilbert and bert"));
  EXPECT_THAT(refusal(with(R"("position_embedding_type": "relative_key", )")),
              HasSubstr("position_embedding_type is 'relative_key'; it takes absolute"));
  EXPECT_THAT(refusal(with(R"("id2label": {"1": "good"}, )")), HasSubstr("id2label has 1 names, and none for 0"));
  EXPECT_THAT(refusal("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("{"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal(R"({"model_type": "distilbert"})"), HasSubstr("does not say vocab_size"));
  EXPECT_THAT(refusal(with(R"("activation": "relu", )")), HasSubstr("activation is 'relu'"));
  EXPECT_THAT(refusal(with(R"("activation": 1, )")), HasSubstr("activation is 1, which is no text"));
  EXPECT_THAT(refusal(with(R"("dropout": 1, )")), HasSubstr("dropout is 1"));
  EXPECT_THAT(refusal(with(R"("pad_token_id": 100, )")), HasSubstr("pad_token_id 100"));
  EXPECT_THAT(refusal(with(R"("pad_token_id": "no", )")), HasSubstr("no whole number"));
  std::string five = with("");
  five.replace(five.find(R"("n_heads": 4)"), 12, R"("n_heads": 5)");
  EXPECT_THAT(refusal(five), HasSubstr("cannot be cut into 5 heads"));
  five.replace(five.find(R"("n_heads": 5)"), 12, R"("n_heads": 0)");
  EXPECT_THAT(refusal(five), HasSubstr("its n_heads is 0; it must be from 1 to 16777216"));
  EXPECT_THAT(refusal(with(R"("id2label": {}, )")), HasSubstr("id2label names no classes"));
  EXPECT_THAT(refusal_of([&] { read_config(folder_ / "absent.json"); }), HasSubstr("absent.json"));
}

}  // namespace
}  // namespace lockstep::lab
