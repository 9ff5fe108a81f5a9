// In from other programs' files, and out to them.
#include <fmt/format.h>
#include <lockstep/checkpoint.h>
#include <lockstep/safetensors.h>
#include <torch/nn/module.h>
#include <torch/serialize/input-archive.h>
#include <torch/utils.h>

#include <map>

#include "base/atomic_file.h"
#include "base/refuse.h"
#include "train/checkpoint/opened_checkpoint.h"
#include "train/module_tensors.h"

namespace lockstep {

namespace {

using Tensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// Tensors of an archive and of those within it. torch keeps buffers and parameters under one name, whatever it is
/// asked.
void collect(torch::serialize::InputArchive& archive, const std::string& prefix, Tensors& tensors) {
  for (const std::string& key : archive.keys()) {
    torch::Tensor tensor;
    torch::serialize::InputArchive inner;
    if (archive.try_read(key, inner)) {
      collect(inner, prefix + key + ".", tensors);
    } else if (archive.try_read(key, tensor) && tensor.defined()) {
      tensors.emplace_back(prefix + key, tensor.detach());
    }
  }
}

void check_fits(const ModuleTensor& here, const torch::Tensor& there) {
  if (here.tensor.sizes() == there.sizes() && here.tensor.scalar_type() == there.scalar_type()) return;
  refuse(fmt::format("Tensor '{}' does not fit: it is {} where the module has {}.", here.name,
                     ModuleTensor{here.name, there}.description(), ModuleTensor{here.name, here.tensor}.description()));
}

}  // namespace

void export_safetensors(const std::filesystem::path& checkpoint, const std::filesystem::path& file,
                        const std::string& prefix) {
  const OpenedCheckpoint opened(checkpoint);
  for (std::size_t shard = 0; shard < opened.shards(); ++shard) opened.verify(shard);
  Tensors tensors;
  for (const std::string& name : opened.names(prefix))
    tensors.emplace_back(name.substr(prefix.size()), opened.read(name));
  if (tensors.empty()) opened.refuse(fmt::format("it holds no tensor whose name begins with '{}'", prefix));
  write_safetensors(file, tensors, {{"format", "pt"}});
}

Tensors read_torch_archive(const std::filesystem::path& path) {
  const std::string content = read_file(path);
  Tensors tensors;
  try {
    torch::serialize::InputArchive archive;
    archive.load_from(content.data(), content.size());
    collect(archive, "", tensors);
  } catch (const c10::Error&) {
    refuse(fmt::format("{} is no archive of torch::save, or is cut short: torch cannot read it.", path.string()));
  }
  if (tensors.empty()) refuse(fmt::format("{} is an archive that holds no tensors.", path.string()));
  return tensors;
}

void load_tensors(torch::nn::Module& module, const Tensors& tensors) {
  const torch::NoGradGuard no_grad;
  std::map<std::string, torch::Tensor> given(tensors.begin(), tensors.end());
  const std::vector<ModuleTensor> wanted = tensors_of(module);
  for (const ModuleTensor& one : wanted) {
    const auto found = given.find(one.name);
    if (found != given.end()) {
      check_fits(one, found->second);
    } else if (one.tied_to.empty()) {
      refuse(fmt::format("The module has a tensor '{}', which was not given.", one.name));
    }
  }
  for (const auto& [name, tensor] : given) {
    const bool known = std::any_of(wanted.begin(), wanted.end(), [&](const auto& one) { return one.name == name; });
    if (!known) refuse(fmt::format("A tensor '{}' was given, which the module has not.", name));
  }
  for (const ModuleTensor& one : wanted) {
    if (const auto found = given.find(one.name); found != given.end()) torch::Tensor(one.tensor).copy_(found->second);
  }
}

}  // namespace lockstep
