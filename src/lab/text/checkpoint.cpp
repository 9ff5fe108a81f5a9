#include "lab/text/checkpoint.h"

#include "base/atomic_file.h"
#include "lab/text/optimizer_state.h"
#include "lab/text/settings_json.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <torch/serialize/output-archive.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace lockstep::lab {

namespace {

constexpr const char* kFormat = "lockstep text checkpoint 1";
// Behind the archive, where readers of zip files look past it: these letters, and the checksum of all before them.
constexpr std::string_view kTrailer = "lockstep";

/// FNV-1a, 64 bits (Fowler, Noll, Vo), least significant byte first.
std::string checksum(std::string_view content) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char byte : content) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3U;
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(hash >> (8 * i) & 0xFF);
  return bytes;
}

[[noreturn]] void cannot_resume(const std::filesystem::path& path, std::string_view why) {
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{} cannot be resumed: {}; name a checkpoint that `lockstep train text` wrote.", path.string(), why));
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, std::int64_t iteration, const TextSettings& settings,
                     const Vocabulary& vocabulary, const Gpt& model, const torch::optim::AdamW& optimizer) {
  const nlohmann::json header = {
      {"format", kFormat}, {"iteration", iteration}, {"settings", settings}, {"alphabet", vocabulary.alphabet()}};
  torch::serialize::OutputArchive archive, model_archive, optimizer_archive;
  model->save(model_archive);
  save_state(optimizer_archive, optimizer);
  archive.write("lockstep", c10::IValue(header.dump()));
  archive.write("model", model_archive);
  archive.write("optimizer", optimizer_archive);
  // In memory first: on a full disk torch's own file writer ends the program.
  std::ostringstream stream;
  archive.save_to(stream);
  std::string content = stream.str();
  const std::string sum = checksum(content);
  content.append(kTrailer).append(sum);
  write_file_atomically(path, content);
}

Checkpoint::Checkpoint(const std::filesystem::path& path) : path_(path) {
  std::string content;
  try {
    content = read_file(path);
  } catch (const Error& error) {
    throw Error(ErrorCode::kInvalidArgument, error.what());
  }
  try {
    read(without_trailer(content));
  } catch (const c10::Error&) {
    cannot_resume(path_, "torch cannot read it");
  } catch (const nlohmann::json::exception&) {
    cannot_resume(path_, "it is of another version");
  }
}

/// The archive in the file. What is cut short or damaged never reaches torch's reader.
std::string_view Checkpoint::without_trailer(std::string_view content) const {
  constexpr std::size_t kSum = 8;
  const std::size_t size = content.size() - std::min(content.size(), kTrailer.size() + kSum);
  if (content.substr(size, kTrailer.size()) != kTrailer) cannot_resume(path_, "it is cut short, or no checkpoint");
  const std::string_view archive = content.substr(0, size);
  if (content.substr(size + kTrailer.size()) != checksum(archive)) cannot_resume(path_, "it is damaged");
  return archive;
}

void Checkpoint::read(std::string_view content) {
  archive_.load_from(content.data(), content.size());
  c10::IValue text;
  if (!archive_.try_read("lockstep", text) || !text.isString()) cannot_resume(path_, "it holds something else");
  const auto header = nlohmann::json::parse(text.toStringRef());
  if (header.at("format") != kFormat) cannot_resume(path_, "it is of another version");
  iteration_ = header.at("iteration");
  settings_ = header.at("settings");
  vocabulary_.emplace(parse_token_kind(settings_.tokens), header.at("alphabet").get<std::string>());
}

void Checkpoint::restore(Gpt& model, torch::optim::AdamW& optimizer) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const torch::Tensor& parameter : model->parameters()) shapes.push_back(parameter.sizes().vec());
  try {
    torch::serialize::InputArchive model_archive, optimizer_archive;
    archive_.read("model", model_archive);
    archive_.read("optimizer", optimizer_archive);
    model->load(model_archive);
    load_state(optimizer_archive, optimizer);
  } catch (const c10::Error&) {
    cannot_resume(path_, "its model or its optimizer state is not what its settings say");
  }
  // load() takes tensors of any shape.
  const auto parameters = model->parameters();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (parameters[i].sizes() != shapes[i]) cannot_resume(path_, "its model has another size");
  }
}

}  // namespace lockstep::lab
