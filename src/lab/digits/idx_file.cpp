#include "lab/digits/idx_file.h"

#include "lab/input_file.h"

#include <fmt/format.h>
#include <torch/utils.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

namespace lockstep::lab {

namespace {

struct Close {
  void operator()(gzFile file) const { ::gzclose(file); }
};

/// zlib reads what is not gzipped as it is.
class IdxFile {
 public:
  explicit IdxFile(const std::filesystem::path& path) : input_(path), file_(::gzopen(path.c_str(), "rb")) {
    if (!file_) input_.refuse(fmt::format("it cannot be read: {}.", std::generic_category().message(errno)));
  }

  torch::Tensor read(int dimensions) {
    constexpr unsigned char kUnsignedByte = 0x08;
    const auto magic = bytes<4>();
    if (magic[0] != 0 || magic[1] != 0) input_.refuse("it is no idx file: it does not begin with two zero bytes.");
    if (magic[2] != kUnsignedByte) {
      input_.refuse(fmt::format("its numbers are of type {:#04x}; it takes unsigned bytes, 0x08.", magic[2]));
    }
    if (magic[3] != dimensions) {
      input_.refuse(fmt::format("it has {} dimension{}, and {} needed: is it the other file of the two?", magic[3],
                                magic[3] == 1 ? "" : "s",
                                dimensions == 1 ? "1 is" : fmt::format("{} are", dimensions)));
    }
    std::vector<std::int64_t> shape;
    for (int i = 0; i < dimensions; ++i) shape.push_back(size());
    torch::Tensor values = torch::empty(checked(shape), torch::kUInt8);
    fill(values.data_ptr(), static_cast<std::size_t>(values.numel()));
    unsigned char further = 0;
    const int got = ::gzread(file_.get(), &further, 1);
    if (got > 0) input_.refuse("it goes on after its last value.");
    int error = Z_OK;
    ::gzerror(file_.get(), &error);
    if (got < 0 || error != Z_OK)
      input_.refuse("it is damaged, or cut short at its very end: its checksum is not right.");
    return values;
  }

 private:
  template <std::size_t N>
  std::array<unsigned char, N> bytes() {
    std::array<unsigned char, N> read{};
    fill(read.data(), N);
    return read;
  }

  std::int64_t size() {
    std::int64_t value = 0;
    for (const unsigned char byte : bytes<4>()) value = value * 256 + byte;
    return value;
  }

  /// What a header may ask for; more is damage.
  const std::vector<std::int64_t>& checked(const std::vector<std::int64_t>& shape) const {
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
    std::int64_t elements = 1;
    for (const std::int64_t size : shape) {
      if (size < 1 || size > kMostBytes / elements) {
        input_.refuse(fmt::format("a dimension of {} cannot be: a file has 1 value to 1 GiB of them.", size));
      }
      elements *= size;
    }
    return shape;
  }

  void fill(void* to, std::size_t count) {
    constexpr std::size_t kPart = std::size_t{1} << 20;
    for (std::size_t at = 0; at < count;) {
      const auto part = static_cast<unsigned>(std::min(count - at, kPart));
      const int read = ::gzread(file_.get(), static_cast<char*>(to) + at, part);
      if (read <= 0) refuse_short();
      at += static_cast<std::size_t>(read);
    }
  }

  [[noreturn]] void refuse_short() const {
    const int system = errno;
    int error = Z_OK;
    ::gzerror(file_.get(), &error);
    input_.refuse(error == Z_ERRNO ? fmt::format("it cannot be read: {}.", std::generic_category().message(system))
                                   : "it is cut short or damaged.");
  }

  InputFile input_;
  std::unique_ptr<std::remove_pointer_t<gzFile>, Close> file_;
};

}  // namespace

torch::Tensor read_idx(const std::filesystem::path& file, int dimensions) { return IdxFile(file).read(dimensions); }

}  // namespace lockstep::lab
