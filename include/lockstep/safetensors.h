#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

/// A file in Hugging Face's safetensors format, open for reading. Opening it checks every invariant of the format and
/// reads no data: that comes from the disk when a tensor is touched.
///
///   lockstep::SafetensorsFile file("model.safetensors");
///   model->weight.set_data(file.tensor("weight"));
///
/// Errors: kIo for a file that cannot be read; kInvalidArgument for one that breaks the format, for a tensor that it
/// does not hold, and for a data type that this libtorch has not. They name file and tensor. Thread-safe.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;

  /// The free texts of its header.
  const std::map<std::string, std::string>& metadata() const;
  /// In the order of their bytes.
  std::vector<std::string> names() const;
  bool contains(const std::string& name) const;
  /// As the format names it: "F32", "BF16", "I64", "BOOL", ...
  const std::string& dtype(const std::string& name) const;
  std::vector<std::int64_t> sizes(const std::string& name) const;

  /// The tensor over the mapped file, which it keeps alive; a copy where the file has it at an odd address. Writing
  /// into it changes memory and not the file. Two calls give the same memory.
  torch::Tensor tensor(const std::string& name) const;
  /// Its bytes as they lie in the file, little-endian and row-major. Valid while this object lives.
  std::string_view bytes(const std::string& name) const;
  /// All before the data: the length of the header, and the header.
  std::string_view header_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes tensors to a file that the Python package `safetensors` reads, atomically and durably (temporary, fsync,
/// rename). Tensors are copied to the host and made contiguous where they are not; the widest types come first, so that
/// each lies at a multiple of its size. Throws Error: kInvalidArgument for a name that is taken twice or not UTF-8, for
/// an undefined tensor and a type that the format has not (complex128, quantized); kIo with the path and the reason.
void write_safetensors(const std::filesystem::path& path,
                       const std::vector<std::pair<std::string, torch::Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace lockstep
