#pragma once

#include "lab/folder_for_tests.h"
#include "lab/refusal_for_tests.h"

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::lab {

/// A test with a folder of its own, in it (`data`) images as MNIST's files have them, of which it is easy to tell the
/// class: class c has a bright square of its own.
class DigitsTest : public FolderTest {
 protected:
  DigitsTest() {
    std::filesystem::create_directory(folder_ / "data");
    write_part("train", 60);
    write_part("t10k", 23);
  }
  void write_gzipped(const std::string& name, const std::string& content) const {
    const gzFile file = ::gzopen((folder_ / name).c_str(), "wb");
    ASSERT_EQ(::gzwrite(file, content.data(), static_cast<unsigned>(content.size())), static_cast<int>(content.size()));
    ASSERT_EQ(::gzclose(file), Z_OK);
  }

  /// An idx file of unsigned bytes.
  static std::string idx(const std::vector<std::uint32_t>& shape, const std::string& values) {
    std::string file = {0, 0, 8, static_cast<char>(shape.size())};
    for (const std::uint32_t size : shape) {
      for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(size >> shift);
    }
    return file + values;
  }

  void write_part(const std::string& part, std::uint32_t count) const {
    std::string pixels, labels;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t digit = i * 7 % 10;
      std::string image(28 * 28, static_cast<char>(i % 5));
      for (std::uint32_t row = 0; row < 5; ++row) {
        for (std::uint32_t column = 0; column < 5; ++column) {
          image[(digit / 5 * 14 + row + 4) * 28 + digit % 5 * 5 + column] = static_cast<char>(200 + i % 50);
        }
      }
      pixels += image;
      labels += static_cast<char>(digit);
    }
    write("data/" + part + "-images-idx3-ubyte", idx({count, 28, 28}, pixels));
    write("data/" + part + "-labels-idx1-ubyte", idx({count}, labels));
  }

  std::vector<std::string> arguments(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {
        "--data", (folder_ / "data").string(), "--out", (folder_ / "out").string(), "--batch", "12", "--iterations",
        "6"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

}  // namespace lockstep::lab
