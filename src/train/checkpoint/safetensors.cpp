#include <fmt/format.h>
#include <lockstep/safetensors.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/atomic_file.h"
#include "base/refuse.h"
#include "train/checkpoint/mapped_file.h"
#include "train/checkpoint/safetensors_header.h"
#include "train/checkpoint/scalar_types.h"

namespace lockstep {

namespace {

using safetensors::Entry;

/// What is written of one tensor.
struct Item {
  Entry entry;
  torch::Tensor data;  ///< on the host, contiguous
};

Item item_of(const std::filesystem::path& path, const std::string& name, const torch::Tensor& tensor) {
  const auto why_not = [&](const std::string& why) {
    refuse(fmt::format("Tensor '{}' cannot be written to {}: {}.", name, path.string(), why));
  };
  if (name == "__metadata__") why_not("the format keeps that name for itself");
  if (!tensor.defined()) why_not("it is undefined");
  const auto dtype = safetensors::dtype_of(tensor.scalar_type());
  if (!dtype) why_not(fmt::format("the format has no type for {}", c10::toString(tensor.scalar_type())));
  if (tensor.layout() != torch::kStrided) why_not("it is sparse; make it dense first");
  Item item{{.name = name, .dtype = *dtype}, tensor.detach().to(torch::kCPU).resolve_conj().contiguous()};
  for (const std::int64_t size : tensor.sizes()) item.entry.shape.push_back(static_cast<std::uint64_t>(size));
  return item;
}

}  // namespace

struct SafetensorsFile::State {
  std::string path;
  MappedFile file;
  safetensors::Header header;
  std::unordered_map<std::string, const Entry*> by_name;

  const Entry& entry(const std::string& name) const {
    const auto found = by_name.find(name);
    if (found == by_name.end())
      refuse(fmt::format("{} holds no tensor '{}'; it holds {} others.", path, name, by_name.size()));
    return *found->second;
  }
  char* data(const Entry& entry) const {
    return static_cast<char*>(file.owner.get()) + header.data_offset + entry.begin;
  }
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : state_(std::make_unique<State>()) {
  state_->path = path.string();
  state_->file = map_file(path);
  state_->header = safetensors::parse_header(state_->file.bytes(), state_->path);
  for (const Entry& entry : state_->header.entries) state_->by_name.emplace(entry.name, &entry);
}

SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;

const std::map<std::string, std::string>& SafetensorsFile::metadata() const { return state_->header.metadata; }

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const Entry& entry : state_->header.entries) names.push_back(entry.name);
  return names;
}

bool SafetensorsFile::contains(const std::string& name) const { return state_->by_name.count(name) > 0; }

const std::string& SafetensorsFile::dtype(const std::string& name) const { return state_->entry(name).dtype; }

std::vector<std::int64_t> SafetensorsFile::sizes(const std::string& name) const {
  const auto& shape = state_->entry(name).shape;
  return {shape.begin(), shape.end()};
}

torch::Tensor SafetensorsFile::tensor(const std::string& name) const {
  const Entry& entry = state_->entry(name);
  const auto type = safetensors::scalar_type_of(entry.dtype);
  if (!type) {
    refuse(fmt::format("Tensor '{}' of {} has the data type {}, which this version of libtorch has not.", name,
                       state_->path, entry.dtype));
  }
  const torch::TensorOptions options(*type);
  const std::vector<std::int64_t> sizes = this->sizes(name);
  if (entry.begin == entry.end) return torch::empty(sizes, options);
  char* data = state_->data(entry);
  if (reinterpret_cast<std::uintptr_t>(data) % c10::elementSize(*type) == 0) {
    return torch::from_blob(
        data, sizes, [owner = state_->file.owner](void*) {}, options);
  }
  torch::Tensor copy = torch::empty(sizes, options);
  std::memcpy(copy.data_ptr(), data, entry.end - entry.begin);
  return copy;
}

std::string_view SafetensorsFile::bytes(const std::string& name) const {
  const Entry& entry = state_->entry(name);
  return {state_->data(entry), entry.end - entry.begin};
}

std::string_view SafetensorsFile::header_bytes() const {
  return state_->file.bytes().substr(0, state_->header.data_offset);
}

void write_safetensors(const std::filesystem::path& path,
                       const std::vector<std::pair<std::string, torch::Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<Item> items;
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : tensors) {
    items.push_back(item_of(path, name, tensor));
    if (!names.insert(name).second) refuse(fmt::format("Two tensors for {} have the name '{}'.", path.string(), name));
  }
  // The order of the reference library, so that the same tensors make the same file.
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return std::make_tuple(safetensors::place_of(b.entry.dtype), std::cref(a.entry.name)) <
           std::make_tuple(safetensors::place_of(a.entry.dtype), std::cref(b.entry.name));
  });
  std::vector<Entry> entries;
  std::uint64_t filled = 0;
  for (Item& item : items) {
    item.entry.begin = filled;
    item.entry.end = filled += item.data.nbytes();
    entries.push_back(item.entry);
  }
  const std::string header = safetensors::format_header(entries, metadata);
  std::vector<std::string_view> parts{header};
  for (const Item& item : items) parts.emplace_back(static_cast<const char*>(item.data.data_ptr()), item.data.nbytes());
  write_file_atomically(path, parts);
}

}  // namespace lockstep
