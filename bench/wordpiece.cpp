// How fast the tokenizer of the SST-2 lab is: wordpiece VOCABULARY FILE.TSV
#include "lab/sst2/wordpiece.h"
#include "lab/sst2/sentences.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <array>
#include <chrono>

int main(int argc, char** argv) {
  if (argc != 3) return fmt::print(stderr, "usage: wordpiece VOCABULARY FILE.TSV\n"), 2;
  try {
    const lockstep::lab::WordPiece tokenizer{std::filesystem::path(argv[1])};
    const auto sentences = lockstep::lab::read_sst2(argv[2]);
    std::array<double, 5> seconds{};
    std::size_t tokens = 0;
    for (double& one : seconds) {
      tokens = 0;
      const auto start = std::chrono::steady_clock::now();
      for (const auto& sentence : sentences) tokens += tokenizer.encode_for_bert(sentence.text).size();
      one = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    std::nth_element(seconds.begin(), seconds.begin() + 2, seconds.end());
    fmt::print("{} sentences, {} tokens in {:.2f} s (median of 5): {:.1f} million tokens/s\n", sentences.size(), tokens,
               seconds[2], static_cast<double>(tokens) / seconds[2] / 1e6);
  } catch (const lockstep::Error& error) {
    return fmt::print(stderr, "{}\n", error.what()), 2;
  }
}
