#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::safetensors {

/// What a header says of one tensor.
struct Entry {
  std::string name;
  std::string dtype;                 ///< as the format names it: "F32", "BF16", "BOOL", ...
  std::vector<std::uint64_t> shape;  ///< its product times the bits of `dtype` is 8 * (end - begin)
  std::uint64_t begin = 0;           ///< bytes from the start of the data
  std::uint64_t end = 0;
};

struct Header {
  std::map<std::string, std::string> metadata;
  std::vector<Entry> entries;     ///< in the order of their bytes, which have neither holes nor overlaps
  std::uint64_t data_offset = 0;  ///< where the data starts in the file
};

/// Bits of one element; none if the format has no such dtype.
std::optional<std::uint64_t> bits_of(std::string_view dtype);

/// Where a dtype stands in the order by which files are sorted, narrow ones first.
std::size_t place_of(std::string_view dtype);

/// Reads the header of `file`, the whole content of a safetensors file (8 bytes of length, JSON, data), and checks
/// every invariant of the format. What a header claims is never allocated. Throws Error (kInvalidArgument) that names
/// `path`, the tensor where there is one, and the reference library's name of what is wrong ("TensorInvalidInfo").
Header parse_header(std::string_view file, const std::string& path);

/// The bytes before the data: length, JSON, spaces up to a multiple of 8. Throws Error (kInvalidArgument) for a name or
/// a metadata text that is not UTF-8.
std::string format_header(const std::vector<Entry>& entries, const std::map<std::string, std::string>& metadata);

}  // namespace lockstep::safetensors
