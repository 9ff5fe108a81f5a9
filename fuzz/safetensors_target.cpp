#include "fuzz/safetensors_target.h"

#include "fuzz/require.h"
#include "train/checkpoint/safetensors_header.h"

#include <lockstep/error.h>

#include <optional>
#include <string>

namespace lockstep::fuzz {

namespace {

std::optional<safetensors::Header> read_header(std::string_view file) {
  try {
    return safetensors::parse_header(file, "fuzzed");
  } catch (const Error& error) {
    require(error.code() == ErrorCode::kInvalidArgument, "a file that breaks the format is refused");
    require(std::string_view(error.what()).starts_with("fuzzed is no valid safetensors file ("), "the file is named");
    return std::nullopt;
  }
}

bool same(const safetensors::Header& a, const safetensors::Header& b) {
  if (a.metadata != b.metadata || a.entries.size() != b.entries.size()) return false;
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    const auto &x = a.entries[i], &y = b.entries[i];
    if (x.name != y.name || x.dtype != y.dtype || x.shape != y.shape || x.begin != y.begin || x.end != y.end)
      return false;
  }
  return true;
}

}  // namespace

void read_and_write_header(std::string_view file) {
  const auto header = read_header(file);
  if (!header) return;
  std::uint64_t filled = 0;
  for (const auto& entry : header->entries) {
    require(entry.begin == filled && entry.end >= entry.begin, "tensors lie one after the other");
    filled = entry.end;
  }
  require(header->data_offset <= file.size(), "the data starts inside the file");
  require(filled == file.size() - header->data_offset, "tensors fill the file to its end");
  const std::string written = safetensors::format_header(header->entries, header->metadata);
  const std::string again = written + std::string(file.substr(header->data_offset));
  require(same(safetensors::parse_header(again, "written"), *header), "what is read comes back as it was written");
}

}  // namespace lockstep::fuzz
