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
  if (!fs::exists(final)) {
    said([&] { fs::rename(partial, final); });
  } else if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, final.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL && errno != ENOSYS) {
      throw Error(ErrorCode::kIo,
                  fmt::format("Renaming to {} failed: {}.", final.string(), std::generic_category().message(errno)));
    }
    replace(iteration);
  }
  make_durable(folder_);
  said([&] { fs::remove_all(partial); });
}

void CheckpointFolder::replace(std::int64_t iteration) const {
  const fs::path old = path(iteration).string() + ".old" + kPartial;
  said([&] {
    fs::rename(path(iteration), old);
    fs::rename(partial_path(iteration), path(iteration));
    fs::remove_all(old);
  });
}

void CheckpointFolder::discard(std::int64_t iteration) const noexcept {
  std::error_code ignored;
  fs::remove_all(partial_path(iteration), ignored);
}

void CheckpointFolder::prune(int keep, std::int64_t newest) const {
  auto all = iterations();
  all.erase(std::upper_bound(all.begin(), all.end(), newest), all.end());
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
