#include "train/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lockstep/error.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <regex>
#include <string>
#include <system_error>

#include "base/atomic_file.h"

namespace lockstep {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPartial = ".partial";

/// What std::filesystem throws, as an Error.
template <class Work>
auto said(const Work& work) {
  try {
    return work();
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::kIo,
                fmt::format("A checkpoint's folder failed: {}: {}.", error.path1().string(), error.code().message()));
  }
}

}  // namespace

fs::path CheckpointFolder::path(std::int64_t iteration) const {
  return folder_ / fmt::format("iteration-{:08}", iteration);
}

fs::path CheckpointFolder::partial_path(std::int64_t iteration) const { return path(iteration).string() + kPartial; }

std::vector<std::int64_t> CheckpointFolder::iterations() const {
  static const std::regex kName(R"(iteration-(\d{8,18}))");
  std::vector<std::int64_t> iterations;
  said([&] {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      std::smatch match;
      const std::string name = entry.path().filename().string();
      if (std::regex_match(name, match, kName)) iterations.push_back(std::stoll(match[1]));
    }
  });
  std::sort(iterations.begin(), iterations.end());
  return iterations;
}

void CheckpointFolder::create() const {
  said([&] { fs::create_directories(folder_); });
}

void CheckpointFolder::begin(std::int64_t iteration) const {
  said([&] {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name.rfind("iteration-", 0) == 0 && entry.path().extension() == kPartial) fs::remove_all(entry.path());
    }
    fs::create_directory(partial_path(iteration));
  });
}

void CheckpointFolder::finish(std::int64_t iteration) const {
  const fs::path partial = partial_path(iteration), final = path(iteration);
  // A folder that is not empty cannot be renamed over, but two can change names at once.
  const unsigned flags = fs::exists(final) ? RENAME_EXCHANGE : 0;
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, final.c_str(), flags) != 0)
    throw Error(ErrorCode::kIo,
                fmt::format("Renaming to {} failed: {}.", final.string(), std::generic_category().message(errno)));
  make_durable(folder_);
  said([&] { fs::remove_all(partial); });
}

void CheckpointFolder::discard(std::int64_t iteration) const noexcept {
  std::error_code ignored;
  fs::remove_all(partial_path(iteration), ignored);
}

void CheckpointFolder::prune(int keep) const {
  const auto all = iterations();
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i) remove(all[i]);
}

/// What is half removed has no final name.
void CheckpointFolder::remove(std::int64_t iteration) const {
  said([&] {
    fs::rename(path(iteration), partial_path(iteration));
    fs::remove_all(partial_path(iteration));
  });
}

}  // namespace lockstep
