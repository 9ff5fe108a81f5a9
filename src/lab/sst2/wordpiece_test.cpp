// Every row of what the genuine tokenizer made of its texts, and the rules by themselves.
#include "lab/sst2/wordpiece.h"

#include "lab/refusal_for_tests.h"
#include "lab/sst2/sentences.h"
#include "tests/processes/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace lockstep::lab {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// A file of the data folder; empty if it is not there.
fs::path data(const std::string& name) {
  const char* folder = std::getenv("LOCKSTEP_TEST_DATA");
  if (folder == nullptr || !fs::exists(fs::path(folder) / name)) return {};
  return fs::path(folder) / name;
}

std::vector<std::vector<std::string>> rows_of(const fs::path& file) {
  std::ifstream stream(file);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(stream, line);  // names of the columns
  while (std::getline(stream, line)) {
    std::vector<std::string> row;
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find('\t', begin), line.size());
      row.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<std::int32_t> numbers_in(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::int32_t>(stream), {}};
}

/// With \\, \n, \t, \r and \xHH as what they stand for.
std::string unescaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      result += text[i];
      continue;
    }
    const char what = text.at(++i);
    if (what == 'x') {
      result += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      result += what == 'n' ? '\n' : what == 't' ? '\t' : what == 'r' ? '\r' : what;
    }
  }
  return result;
}

class WordPieceOfBert : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (data("bert-base-uncased").empty()) GTEST_SKIP() << "no vocabulary of BERT's: set LOCKSTEP_TEST_DATA";
    tokenizer_.emplace(data(GetParam()));
  }
  std::optional<WordPiece> tokenizer_;
};
INSTANTIATE_TEST_SUITE_P(Files, WordPieceOfBert,
                         testing::Values("bert-base-uncased/vocab.txt", "bert-base-uncased/tokenizer.json"),
                         [](const auto& test) {
                           return std::string(test.param).ends_with("json") ? "TokenizerJson" : "VocabTxt";
                         });

TEST_P(WordPieceOfBert, ReproducesTheHardCases) {
  const auto rows = rows_of(data("wordpiece-reference/hf_cases.tsv"));
  EXPECT_EQ(rows.size(), 71U);
  for (const auto& row : rows) {
    const std::string text = unescaped(row.at(1));
    const std::string second = unescaped(row.at(2));
    const auto pieces = second.empty() ? tokenizer_->encode_for_bert(text) : tokenizer_->encode_for_bert(text, second);
    EXPECT_EQ(pieces, numbers_in(row.at(3))) << row[0] << ": " << text;
  }
}

TEST_P(WordPieceOfBert, ReproducesTheQuestionsOfSquad) {
  const auto rows = rows_of(data("wordpiece-reference/squad_questions.tsv"));
  EXPECT_EQ(rows.size(), 10570U);
  const WordSplitter splitter({});
  for (const auto& row : rows) {
    std::string words = splitter.words(row.at(0));
    std::replace(words.begin(), words.end(), '\n', ' ');
    EXPECT_EQ(words, row.at(1) + " ");
    EXPECT_EQ(tokenizer_->encode(row.at(0)), numbers_in(row.at(2))) << row[0];
  }
}

TEST_P(WordPieceOfBert, CutsFilmReviewsAsLongAsTheyAre) {
  const auto sentences = read_sst2(data("sst2/train.tsv"));
  EXPECT_EQ(sentences.size(), 67349U);
  std::size_t tokens = 0;
  std::size_t longest = 0;
  for (const Sentence& sentence : sentences) {
    const auto pieces = tokenizer_->encode_for_bert(sentence.text);
    EXPECT_THAT(pieces, testing::Not(testing::Contains(tokenizer_->unknown()))) << sentence.text;
    tokens += pieces.size();
    longest = std::max(longest, pieces.size());
  }
  EXPECT_EQ(tokens, 897039U);
  EXPECT_EQ(longest, 66U);
}

// --- the rules, with a vocabulary of a few words ---

WordPieceModel small_model() {
  WordPieceModel model;
  std::int32_t number = 0;
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "##a", "want", "e",
                            "\xE4\xB8\xAD", "!", "[", "]", "mask"}) {
    model.tokens.emplace_back(token, number++);
  }
  return model;
}

TEST(WordPiece, TakesTheLongestPieces) {
  const WordPiece tokenizer(small_model());
  EXPECT_THAT(tokenizer.encode("unaffable WANT"), ElementsAre(5, 6, 7, 9));
  EXPECT_THAT(tokenizer.encode("unwant"), ElementsAre(1)) << "'want' does not go on a word";
  EXPECT_THAT(tokenizer.encode("un\xC3\xA0"), ElementsAre(5, 8)) << "a with an accent";
  EXPECT_THAT(tokenizer.encode(""), ElementsAre());
  EXPECT_THAT(tokenizer.encode_for_bert("e", "want"), ElementsAre(2, 10, 3, 9, 3));
  EXPECT_EQ(tokenizer.padding(), 0);
  EXPECT_EQ(tokenizer.size(), 16);
}

TEST(WordPiece, SpecialTokensCountAsThemselves) {
  const WordPiece tokenizer(small_model());
  EXPECT_THAT(tokenizer.encode("e[MASK]e [mask] [SEP]"), ElementsAre(10, 4, 10, 13, 15, 14, 3));
}

TEST(WordPiece, LongWordsAreUnknown) {
  const WordPiece tokenizer(small_model());
  std::string word = "un";
  while (word.size() < 100) word += 'a';
  EXPECT_EQ(tokenizer.encode(word).size(), 99U);
  EXPECT_THAT(tokenizer.encode(word + "a"), ElementsAre(1));
}

std::string words_of(std::string_view text, const WordRules& rules = {}) {
  std::string words = WordSplitter(rules).words(text);
  std::replace(words.begin(), words.end(), '\n', '|');
  return words;
}

TEST(WordSplitter, CutsAtSpacesAndPunctuation) {
  EXPECT_EQ(words_of("  Don't  STOP,now... "), "don|'|t|stop|,|now|.|.|.|");
  EXPECT_EQ(words_of("a\tb\r\nc\xC2\xA0"
                     "d\xE3\x80\x80"
                     "e"),
            "a|b|c|d|e|");
  EXPECT_EQ(words_of("na\xC3\xAFve caf\xC3\xA9\xE2\x80\xA6"), "naive|cafe|\xE2\x80\xA6|");
  EXPECT_EQ(words_of("x\xE4\xB8\xAD\xE5\x9B\xBDy"), "x|\xE4\xB8\xAD|\xE5\x9B\xBD|y|");
  EXPECT_EQ(words_of(std::string_view("a\0b\x7F"
                                      "c\xEF\xBF\xBD"
                                      "d\xE2\x80\x8B",
                                      13)),
            "abcd|")
      << "controls and U+FFFD go";
  EXPECT_EQ(words_of("a\xFF"
                     "b"),
            "ab|")
      << "what is not UTF-8 is U+FFFD";
  EXPECT_EQ(words_of("a\vb\fc"), "abc|");
}

TEST(WordSplitter, FollowsItsRules) {
  EXPECT_EQ(words_of("\xC3\x89t\xC3\xA9 Ab", {.strip_accents = false}), "\xC3\xA9t\xC3\xA9|ab|");
  EXPECT_EQ(words_of("\xC3\x89t\xC3\xA9 Ab", {.strip_accents = false, .lowercase = false}), "\xC3\x89t\xC3\xA9|Ab|");
  EXPECT_EQ(words_of("x\xE4\xB8\xADy", {.handle_chinese_chars = false}), "x\xE4\xB8\xADy|");
  EXPECT_EQ(words_of("a\x01"
                     "b a\vb",
                     {.clean_text = false}),
            "a\x01"
            "b|a|b|");
}

// --- files that are none ---

class WordPieceFile : public testing_support::TemporaryFolder {
 protected:
  std::string refusal(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    const std::string text = refusal_of([&] { read_wordpiece(folder_ / name); });
    EXPECT_THAT(text, HasSubstr(name));
    return text;
  }
};

TEST_F(WordPieceFile, RefusesWhatIsNoVocabulary) {
  EXPECT_THAT(refusal("vocab.txt", "[PAD]\n[CLS]\n[SEP]\nword\n"), HasSubstr("has no token [UNK]"));
  EXPECT_THAT(refusal("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nword\nword\n"), HasSubstr("token 'word' twice"));
  EXPECT_THAT(refusal("vocab.txt", "[PAD]\n\n[UNK]\n"), HasSubstr("line 2 is empty"));
  EXPECT_THAT(refusal("vocab.txt", ""), HasSubstr("has no token"));
  EXPECT_THAT(refusal_of([&] { read_wordpiece(folder_ / "absent.txt"); }), HasSubstr("absent.txt"));
}

TEST_F(WordPieceFile, RefusesTokenizersOfOtherKinds) {
  const auto json = [](const std::string& normalizer, const std::string& pre, const std::string& model) {
    return R"({"normalizer": )" + normalizer + R"(, "pre_tokenizer": {"type": ")" + pre + R"("}, "model": )" + model +
           "}";
  };
  const std::string bert = R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                              "strip_accents": null, "lowercase": true})";
  const auto pieces = [](const std::string& vocabulary) {
    return R"({"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": )" +
           vocabulary + "}";
  };
  const std::string vocabulary = R"({"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3})";
  std::string no_prefix = pieces(vocabulary);
  no_prefix.replace(no_prefix.find("##"), 2, "");
  EXPECT_THAT(refusal("tokenizer.json", json(bert, "BertPreTokenizer", no_prefix)),
              HasSubstr("continuing_subword_prefix is empty"));
  EXPECT_THAT(refusal("tokenizer.json", json(bert, "BertPreTokenizer", R"({"type": "BPE", "vocab": {}})")),
              HasSubstr("model is not WordPiece"));
  EXPECT_THAT(refusal("tokenizer.json", json("null", "BertPreTokenizer", pieces(vocabulary))),
              HasSubstr("normalizer is not BertNormalizer"));
  EXPECT_THAT(refusal("tokenizer.json", json(bert, "Whitespace", pieces(vocabulary))),
              HasSubstr("pre_tokenizer is not BertPreTokenizer"));
  EXPECT_THAT(refusal("tokenizer.json", json(bert, "BertPreTokenizer", pieces(R"({"a": -1})"))),
              HasSubstr("number of its token 'a' is -1"));
  EXPECT_THAT(refusal("tokenizer.json", json(bert, "BertPreTokenizer", pieces(R"({"a": 0})"))),
              HasSubstr("has no token [UNK]"));
  EXPECT_THAT(refusal("tokenizer.json", "{"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("tokenizer.json", "[]"), HasSubstr("not a tokenizer.json"));
  std::ofstream(folder_ / "tokenizer.json") << json(bert, "BertPreTokenizer", pieces(vocabulary));
  EXPECT_EQ(WordPiece(folder_ / "tokenizer.json").size(), 4);
}

// --- added tokens, and what stands beside a vocabulary ---

std::string added_token(const std::string& text, int number, bool normalized, const std::string& more = "") {
  return R"({"content": ")" + text + R"(", "id": )" + std::to_string(number) + R"(, "normalized": )" +
         (normalized ? "true" : "false") + more + "}";
}

/// A tokenizer.json of sixteen pieces and further tokens.
std::string json_with(const std::string& added_tokens) {
  return R"({"added_tokens": [)" + added_tokens + R"(], "normalizer": {"type": "BertNormalizer", "clean_text": true,
    "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {
    "[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "see": 5, "now": 6, "un": 7, "##ing": 8, "film": 9,
    "<": 10, ">": 11, "url": 12, "##cd": 13, "a": 14, "ing": 15}}})";
}

/// The numbers are those that Hugging Face's tokenizers (0.23) makes of the same file.
TEST_F(WordPieceFile, AddedTokensStayWhole) {
  std::ofstream(folder_ / "tokenizer.json") << json_with(
      added_token("film", 9, true) + "," + added_token("<url>", 16, false) + "," + added_token("<url>s", 17, false) +
      "," + added_token("\xC3\x89toile", 18, true) + "," + added_token("ab", 19, true) + "," +
      added_token("abcd", 20, true) + "," + added_token("\xE4\xB8\xAD", 21, true));
  const WordPiece tokenizer(folder_ / "tokenizer.json");
  EXPECT_EQ(tokenizer.size(), 22);
  EXPECT_THAT(tokenizer.encode("see<url>now"), ElementsAre(5, 16, 6));
  EXPECT_THAT(tokenizer.encode("see <url>s now"), ElementsAre(5, 17, 6)) << "the longest";
  EXPECT_THAT(tokenizer.encode("<URL>"), ElementsAre(10, 12, 11)) << "another text";
  EXPECT_THAT(tokenizer.encode("filming unfilm"), ElementsAre(9, 15, 7, 9)) << "within words too";
  EXPECT_THAT(tokenizer.encode("\xC3\x89toile ETOILE now"), ElementsAre(18, 18, 6)) << "as the rules make it";
  EXPECT_THAT(tokenizer.encode("aABCDab"), ElementsAre(14, 20, 19));
  EXPECT_THAT(tokenizer.encode("see\xE4\xB8\xADnow"), ElementsAre(5, 21, 6));
  EXPECT_THAT(tokenizer.encode("[MASK] film [mask]"), ElementsAre(4, 9, 1, 1, 1));
  EXPECT_THAT(tokenizer.encode("FILM [SEP]see <url><url>"), ElementsAre(9, 3, 5, 16, 16));
}

TEST_F(WordPieceFile, RefusesAddedTokensThatItCannotFollow) {
  EXPECT_THAT(refusal("tokenizer.json", json_with(added_token("film", 20, false))),
              HasSubstr("its added token 'film' has the number 20, and 9 in the vocabulary"));
  EXPECT_THAT(refusal("tokenizer.json", json_with(added_token("<url>", 16, false, R"(, "single_word": true)"))),
              HasSubstr("its added token '<url>' is a single_word"));
  EXPECT_THAT(refusal("tokenizer.json", json_with(added_token("<url>", -1, false))),
              HasSubstr("number of its token '<url>' is -1"));
  EXPECT_THAT(refusal("tokenizer.json", json_with("7")), HasSubstr("not a tokenizer.json"));
}

TEST_F(WordPieceFile, AVocabularyFollowsTheConfigBesideIt) {
  std::ofstream(folder_ / "vocab.txt") << "[PAD]\n[UNK]\n[CLS]\n[SEP]\nFilm\n";
  EXPECT_THAT(WordPiece(folder_ / "vocab.txt").encode("Film"), ElementsAre(1)) << "in lower case without one";
  const auto config = [&](const std::string& content) { std::ofstream(folder_ / "tokenizer_config.json") << content; };
  config(R"({"do_lower_case": false, "tokenize_chinese_chars": false, "strip_accents": null})");
  EXPECT_THAT(WordPiece(folder_ / "vocab.txt").encode("Film"), ElementsAre(4));
  const WordRules rules = read_wordpiece(folder_ / "vocab.txt").rules;
  EXPECT_FALSE(rules.strip_accents) << "as the case, where it does not say";
  EXPECT_FALSE(rules.handle_chinese_chars);
  const auto refused = [&](const std::string& content) {
    config(content);
    return refusal_of([&] { read_wordpiece(folder_ / "vocab.txt"); });
  };
  EXPECT_THAT(refused(R"({"do_lower_case": "no"})"),
              HasSubstr("tokenizer_config.json: its do_lower_case is \"no\", which is neither true nor false"));
  EXPECT_THAT(refused("[]"), HasSubstr("tokenizer_config.json: it is not a JSON object"));
}

}  // namespace
}  // namespace lockstep::lab
