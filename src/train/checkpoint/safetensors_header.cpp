#include "train/checkpoint/safetensors_header.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

namespace lockstep::safetensors {

namespace {

using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // as the reference library has it
constexpr std::size_t kAlignment = 8;
constexpr const char* kMetadata = "__metadata__";

/// In the reference library's order, by which it sorts tensors: narrow ones first.
constexpr std::pair<std::string_view, std::uint64_t> kTypeBits[] = {
    {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
    {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
    {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64}};

/// Refuses one file, always in the same words.
struct Refusal {
  const std::string& path;

  /// `name`: the reference library's, which people search for.
  [[noreturn]] void operator()(std::string_view name, const std::string& why) const {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} is no valid safetensors file ({}): {}. Write or fetch it again.", path, name, why));
  }
  [[noreturn]] void of_tensor(std::string_view name, const std::string& tensor, const std::string& why) const {
    (*this)(name, fmt::format("tensor '{}' {}", tensor, why));
  }
};

std::uint64_t header_bytes(std::string_view file, const Refusal& refuse) {
  if (file.size() < kLengthBytes)
    refuse("HeaderTooSmall", fmt::format("it has {} bytes, and 8 say how long its header is", file.size()));
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(file[i]);
  if (length > kMostHeaderBytes)
    refuse("HeaderTooLarge", fmt::format("its header claims {} bytes, of at most {}", length, kMostHeaderBytes));
  if (length > file.size() - kLengthBytes)
    refuse("InvalidHeaderLength",
           fmt::format("its header claims {} bytes, and {} follow", length, file.size() - kLengthBytes));
  return length;
}

/// nlohmann-json keeps the last of two equal keys: this notices them, and what nests deeper than the format does.
class Watch {
 public:
  explicit Watch(const Refusal& refuse) : refuse_(refuse) {}

  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    constexpr int kDeepest = 8;
    if (depth > kDeepest) refuse_("InvalidHeaderDeserialization", "its header nests deeper than the format does");
    if (event == json::parse_event_t::object_start) {
      keys_.resize(static_cast<std::size_t>(depth) + 1);
      keys_.emplace_back();
    }
    if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_[static_cast<std::size_t>(depth)].insert(key).second)
        refuse_("InvalidHeaderDeserialization", fmt::format("its header has the key '{}' twice", key));
    }
    return true;
  }

 private:
  const Refusal& refuse_;
  std::vector<std::set<std::string>> keys_;  ///< of the objects that are open, the outermost first
};

json parse_json(std::string_view text, const Refusal& refuse) {
  try {
    json header =
        json::parse(text, [watch = Watch(refuse)](int depth, json::parse_event_t event, json& parsed) mutable {
          return watch(depth, event, parsed);
        });
    if (header.is_object()) return header;
  } catch (const json::exception& error) {
    // 101 is every syntax error; the text says which.
    const bool encoding = std::string_view(error.what()).find("UTF-8") != std::string_view::npos;
    if (encoding) refuse("InvalidHeader", "its header is not UTF-8");
    refuse("InvalidHeaderDeserialization", "its header is not JSON");
  }
  refuse("InvalidHeaderDeserialization", "its header is not a JSON object");
}

std::map<std::string, std::string> metadata_of(const json& value, const Refusal& refuse) {
  std::map<std::string, std::string> metadata;
  if (!value.is_object()) refuse("InvalidHeaderDeserialization", "its __metadata__ is not an object");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string())
      refuse("InvalidHeaderDeserialization", fmt::format("'{}' in its __metadata__ is not a string", key));
    metadata.emplace(key, text.get<std::string>());
  }
  return metadata;
}

/// The whole numbers in the list `key` of an entry.
std::vector<std::uint64_t> numbers_in(const json& value, const char* key, const std::string& tensor,
                                      const Refusal& refuse) {
  const auto found = value.find(key);
  const bool good = found != value.end() && found->is_array() &&
                    std::all_of(found->begin(), found->end(), [](const json& one) { return one.is_number_unsigned(); });
  if (!good)
    refuse.of_tensor("InvalidHeaderDeserialization", tensor, fmt::format("has no list of whole numbers '{}'", key));
  return found->get<std::vector<std::uint64_t>>();
}

Entry entry_of(const std::string& name, const json& value, const Refusal& refuse) {
  if (!value.is_object()) refuse.of_tensor("InvalidHeaderDeserialization", name, "is not described by an object");
  const auto dtype = value.find("dtype");
  if (dtype == value.end() || !dtype->is_string())
    refuse.of_tensor("InvalidHeaderDeserialization", name, "has no dtype");
  Entry entry{.name = name, .dtype = dtype->get<std::string>(), .shape = numbers_in(value, "shape", name, refuse)};
  if (!bits_of(entry.dtype))
    refuse.of_tensor("InvalidHeaderDeserialization", name,
                     fmt::format("has the dtype '{}', which the format has not", entry.dtype));
  const auto offsets = numbers_in(value, "data_offsets", name, refuse);
  if (offsets.size() != 2) refuse.of_tensor("InvalidHeaderDeserialization", name, "has not two data_offsets");
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return entry;
}

/// Bits that a tensor of this shape has.
std::uint64_t checked_bits(const Entry& entry, const Refusal& refuse) {
  std::uint64_t elements = 1, bits = 0;
  bool overflows = false;
  for (const std::uint64_t size : entry.shape) overflows |= __builtin_mul_overflow(elements, size, &elements);
  overflows |= __builtin_mul_overflow(elements, *bits_of(entry.dtype), &bits);
  if (overflows) refuse.of_tensor("ValidationOverflow", entry.name, "has a shape of more than 2^64 bits");
  return bits;
}

/// Tensors fill the data without holes (a file could be two things at once) and without overlaps (a small file could
/// claim much memory).
void check_entries(const Header& header, std::uint64_t file_bytes, const Refusal& refuse) {
  std::uint64_t filled = 0;
  for (const Entry& entry : header.entries) {
    if (entry.begin != filled || entry.end < entry.begin)
      refuse.of_tensor("InvalidOffset", entry.name,
                       fmt::format("lies at bytes {} to {} of the data, where byte {} is the next that is free",
                                   entry.begin, entry.end, filled));
    const std::uint64_t bits = checked_bits(entry, refuse);
    if (bits % 8 != 0)
      refuse.of_tensor("MisalignedSlice", entry.name, fmt::format("has {} bits, no whole bytes", bits));
    if (bits / 8 != entry.end - entry.begin)
      refuse.of_tensor(
          "TensorInvalidInfo", entry.name,
          fmt::format("has {} bytes by its shape and {} by its offsets", bits / 8, entry.end - entry.begin));
    filled = entry.end;
  }
  const std::uint64_t data_bytes = file_bytes - header.data_offset;
  if (filled != data_bytes)
    refuse("MetadataIncompleteBuffer",
           fmt::format("its tensors have {} bytes, and {} follow the header: it is cut short, or has something behind",
                       filled, data_bytes));
}

}  // namespace

std::optional<std::uint64_t> bits_of(std::string_view dtype) {
  const std::size_t place = place_of(dtype);
  return place == std::size(kTypeBits) ? std::nullopt : std::optional(kTypeBits[place].second);
}

std::size_t place_of(std::string_view dtype) {
  const auto* found =
      std::find_if(std::begin(kTypeBits), std::end(kTypeBits), [&](const auto& type) { return type.first == dtype; });
  return static_cast<std::size_t>(found - std::begin(kTypeBits));
}

Header parse_header(std::string_view file, const std::string& path) {
  const Refusal refuse{path};
  const std::uint64_t length = header_bytes(file, refuse);
  const json text = parse_json(file.substr(kLengthBytes, length), refuse);
  Header header{.data_offset = kLengthBytes + length};
  for (const auto& [name, value] : text.items()) {
    if (name == kMetadata) {
      header.metadata = metadata_of(value, refuse);
    } else {
      header.entries.push_back(entry_of(name, value, refuse));
    }
  }
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const Entry& a, const Entry& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  check_entries(header, file.size(), refuse);
  return header;
}

std::string format_header(const std::vector<Entry>& entries, const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  for (const Entry& entry : entries) {
    header[entry.name] = {{"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception&) {
    throw Error(ErrorCode::kInvalidArgument,
                "A safetensors file takes names of tensors and metadata in UTF-8 only, and one of these is not.");
  }
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  std::string length(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i) length[i] = static_cast<char>(text.size() >> (8 * i) & 0xFF);
  return length + text;
}

}  // namespace lockstep::safetensors
