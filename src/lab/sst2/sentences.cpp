#include "lab/sst2/sentences.h"

#include "lab/input_file.h"
#include "lab/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace lockstep::lab {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // of UTF-8, as some editors write it

/// A line of a file, for sentences about it.
struct Line {
  const InputFile& file;
  std::size_t number;  ///< from 1
  std::string_view text;

  [[noreturn]] void refuse(const std::string& why) const { file.refuse(fmt::format("line {}: {}", number, why)); }
};

/// What stands in a line, as much of it as a sentence about it can bear.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 60;
  return printable(text.substr(0, kMost));
}

void require_utf8(const Line& line) {
  for (std::size_t at = 0; at < line.text.size();) {
    const std::size_t length = utf8_length(line.text, at);
    if (length == 0) line.refuse(fmt::format("byte {} is not UTF-8: convert the file to UTF-8.", at + 1));
    at += length;
  }
}

void require_header(const Line& line) {
  if (line.text == "sentence\tlabel") return;
  if (line.text == "sentence\tlabel\r") line.refuse("it ends in CRLF: convert the file to Unix line ends.");
  line.refuse(
      fmt::format("the header must be 'sentence<TAB>label', as in GLUE's train.tsv and dev.tsv of SST-2; it is '{}'.",
                  shown(line.text)));
}

Sentence parse(const Line& line) {
  if (line.text.empty()) line.refuse("it is empty: take it out.");
  if (line.text.back() == '\r') line.refuse("it ends in CRLF: convert the file to Unix line ends.");
  require_utf8(line);
  const std::size_t tab = line.text.find('\t');
  if (tab == std::string_view::npos) line.refuse("there is no label: a tab and 0 or 1 must follow the sentence.");
  if (tab == 0) line.refuse("there is no sentence before the tab: take the line out.");
  const std::string_view label = line.text.substr(tab + 1);
  if (label.find('\t') != std::string_view::npos) line.refuse("there are more than the columns sentence and label.");
  if (label != "0" && label != "1") line.refuse(fmt::format("the label must be 0 or 1; it is '{}'.", shown(label)));
  return {std::string(line.text.substr(0, tab)), label == "1" ? 1 : 0};
}

}  // namespace

std::vector<Sentence> read_sst2(const std::filesystem::path& path) {
  const InputFile file(path);
  const std::string content = file.content();
  const std::size_t start = content.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  std::vector<Sentence> sentences;
  std::size_t number = 0;
  for (std::size_t begin = start; begin < content.size();) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    const Line line{file, ++number, std::string_view(content).substr(begin, end - begin)};
    if (number == 1) {
      require_header(line);
    } else {
      sentences.push_back(parse(line));
    }
    begin = end + 1;
  }
  if (sentences.empty()) file.refuse("it holds no sentences: is it GLUE's train.tsv or dev.tsv of SST-2?");
  return sentences;
}

}  // namespace lockstep::lab
