#include "lab/text/data.h"

#include "lab/counter_random.h"
#include "lab/input_file.h"
#include "lab/require.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <system_error>

namespace lockstep::lab {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> regular_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_symlink() && entry.is_regular_file()) files.push_back(entry.path());
  }
  if (error) refuse(fmt::format("The folder {} cannot be read: {}.", folder.string(), error.message()));
  if (files.empty()) refuse(fmt::format("The folder {} holds no files: name text files with --data.", folder.string()));
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_data_file(const fs::path& path) {
  if (!fs::exists(path)) {
    refuse(fmt::format("There is no file {}: name a text file with --data, or leave --data out.", path.string()));
  }
  std::string content = InputFile(path).content();
  if (content.empty()) refuse(fmt::format("The file {} is empty: name a text file with --data.", path.string()));
  return content;
}

}  // namespace

std::string read_text(const std::vector<fs::path>& paths) {
  std::string text;
  for (const fs::path& path : paths) {
    if (!fs::is_directory(path)) {
      text += read_data_file(path);
      continue;
    }
    for (const fs::path& file : regular_files(path)) text += read_data_file(file);
  }
  return text;
}

TextData::TextData(const std::vector<std::int32_t>& tokens, std::int64_t context) {
  const auto cut = tokens.begin() + static_cast<std::ptrdiff_t>(tokens.size() * 9 / 10);
  training.assign(tokens.begin(), cut);
  validation.assign(cut, tokens.end());
  // The validation part is the shorter one.
  if (static_cast<std::int64_t>(validation.size()) <= context) {
    refuse(
        fmt::format("The text is too short: of its {} tokens the last tenth, {}, is for validation, and must hold more "
                    "than a context of {}; give a longer text or a smaller --context.",
                    tokens.size(), validation.size(), context));
  }
}

TextBatch windows_at(const std::vector<std::int32_t>& tokens, const std::vector<std::int64_t>& starts,
                     std::int64_t context) {
  const auto rows = std::max<std::int64_t>(1, static_cast<std::int64_t>(starts.size()));
  TextBatch batch{torch::empty({rows, context}, torch::kInt64), torch::empty({rows, context}, torch::kInt64)};
  auto* inputs = batch.tokens.data_ptr<std::int64_t>();
  auto* targets = batch.targets.data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t start = starts.empty() ? 0 : starts[static_cast<std::size_t>(row)];
    const auto* window = tokens.data() + start;
    inputs = std::copy(window, window + context, inputs);
    targets = std::copy(window + 1, window + 1 + context, targets);
  }
  return batch;
}

std::vector<std::int64_t> random_starts(std::uint64_t seed, std::int64_t iteration, std::int64_t windows,
                                        std::int64_t positions) {
  const CounterRandom random(seed, static_cast<std::uint64_t>(iteration));
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < windows; ++i) starts.push_back(random.below(positions, static_cast<std::uint64_t>(i)));
  return starts;
}

std::vector<std::int64_t> even_starts(std::int64_t windows, std::int64_t tokens, std::int64_t context) {
  const std::int64_t fitting = (tokens - 1) / context;
  const std::int64_t count = windows > 0 ? std::min(windows, fitting) : fitting;
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < count; ++i) starts.push_back(i * fitting / count * context);
  return starts;
}

}  // namespace lockstep::lab
