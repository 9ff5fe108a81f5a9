#include "planner/calibration/calibration.h"

#include "base/atomic_file.h"
#include "base/environment.h"
#include "schedule/text.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

namespace lockstep {

namespace {

constexpr int kVersion = 12;

nlohmann::json json_of(const std::vector<Sample>& samples) {
  nlohmann::json json = nlohmann::json::array();
  for (const Sample& sample : samples) {
    json.push_back({{"collective", to_string(sample.collective)},
                    {"algorithm", sample.algorithm},
                    {"ranks", sample.ranks},
                    {"bytes", sample.bytes},
                    {"plain", sample.memory == MemoryKind::kPlain},
                    {"seconds", sample.seconds},
                    {"other_state_s", sample.other_state_s},
                    {"predicted_s", sample.predicted_s}});
  }
  return json;
}

std::vector<Sample> samples_from(const nlohmann::json& json) {
  std::vector<Sample> samples;
  for (const nlohmann::json& sample : json) {
    samples.push_back({.collective = parse_collective(sample.at("collective").get<std::string>()),
                       .algorithm = sample.at("algorithm"),
                       .ranks = sample.at("ranks"),
                       .bytes = sample.at("bytes"),
                       .memory = sample.at("plain") ? MemoryKind::kPlain : MemoryKind::kRegistered,
                       .seconds = sample.at("seconds"),
                       .other_state_s = sample.at("other_state_s"),
                       .predicted_s = sample.at("predicted_s"),
                       .job = {}});
  }
  return samples;
}

nlohmann::json json_of(const PredictionError& error) {
  return {{"median_error", error.median}, {"worst_error", error.worst}};
}

PredictionError error_from(const nlohmann::json& json) {
  return {.median = json.at("median_error"), .worst = json.at("worst_error")};
}

nlohmann::json json_of(const HeldBack& held_back) {
  return {{"sizes", json_of(held_back.sizes)}, {"ranks", json_of(held_back.ranks)}};
}

HeldBack held_back_from(const nlohmann::json& json) {
  return {.sizes = error_from(json.at("sizes")), .ranks = error_from(json.at("ranks"))};
}

nlohmann::json json_of(const Calibration::Tcp& tcp) {
  return {{"seconds", tcp.model.seconds.values},
          {"cores", tcp.model.cores},
          {"most_ranks", tcp.model.most_ranks},
          {"held_back", json_of(tcp.held_back)},
          {"samples", json_of(tcp.samples)}};
}

Calibration::Tcp tcp_from(const nlohmann::json& json) {
  Calibration::Tcp tcp{.model = {.seconds = {}, .cores = json.at("cores"), .most_ranks = json.at("most_ranks")},
                       .held_back = held_back_from(json.at("held_back")),
                       .samples = samples_from(json.at("samples"))};
  tcp.model.seconds.values = json.at("seconds");
  if (tcp.model.cores < 1) throw std::runtime_error("TCP was measured on no core");
  return tcp;
}

}  // namespace

std::optional<std::filesystem::path> calibration_file() {
  const auto file = [](const std::filesystem::path& cache) { return cache / "lockstep" / "calibration.json"; };
  if (const auto cache = environment("XDG_CACHE_HOME")) return file(*cache);
  if (const auto home = environment("HOME")) return file(std::filesystem::path(*home) / ".cache");
  return std::nullopt;
}

std::string to_text(const HeldBack& held_back) {
  const auto& [sizes, ranks] = held_back;
  std::string text =
      fmt::format("sizes with a median error of {:.0f} %, at worst {:.0f} %", 100 * sizes.median, 100 * sizes.worst);
  if (ranks.worst == 0) return text;
  return text +
         fmt::format("; numbers of ranks with {:.0f} %, at worst {:.0f} %", 100 * ranks.median, 100 * ranks.worst);
}

std::string to_json(const Calibration& calibration) {
  nlohmann::json selections = nlohmann::json::object();
  for (const auto& [ranks, selection] : calibration.selections) selections[std::to_string(ranks)] = selection.to_text();
  const Machine& machine = calibration.machine;
  const nlohmann::json json{{"version", kVersion},
                            {"machine",
                             {{"processor", machine.processor},
                              {"cores", machine.cores},
                              {"memory_bytes", machine.memory_bytes},
                              {"cache_bytes_first", machine.cache_bytes_first},
                              {"cache_bytes_a_core", machine.cache_bytes_a_core},
                              {"cache_bytes_shared", machine.cache_bytes_shared}}},
                            {"memory_bytes_per_second", calibration.memory_bytes_per_second},
                            {"shm_seconds", calibration.shm.seconds.values},
                            {"held_back", json_of(calibration.held_back)},
                            {"selections", selections},
                            {"samples", json_of(calibration.samples)},
                            {"tcp", json_of(calibration.tcp)}};
  return json.dump(1) + "\n";
}

Calibration parse_calibration(std::string_view text, const std::string& source_name) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    if (json.at("version") != kVersion) throw std::runtime_error("it was written by another version");
    const nlohmann::json& machine = json.at("machine");
    Calibration calibration{.machine = {.processor = machine.at("processor"),
                                        .cores = machine.at("cores"),
                                        .memory_bytes = machine.at("memory_bytes"),
                                        .cache_bytes_first = machine.at("cache_bytes_first"),
                                        .cache_bytes_a_core = machine.at("cache_bytes_a_core"),
                                        .cache_bytes_shared = machine.at("cache_bytes_shared")},
                            .shm = {},
                            .memory_bytes_per_second = json.at("memory_bytes_per_second"),
                            .held_back = held_back_from(json.at("held_back")),
                            .samples = samples_from(json.at("samples")),
                            .selections = {},
                            .tcp = tcp_from(json.at("tcp"))};
    calibration.shm.seconds.values = json.at("shm_seconds");
    for (const auto& [ranks, selection] : json.at("selections").items()) {
      calibration.selections[std::stoi(ranks)] = Selection::parse(selection.get<std::string>(), source_name);
    }
    return calibration;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{} is no calibration ({}); measure again with `lockstep calibrate`, or remove it.",
                            source_name, error.what()));
  }
}

std::optional<Calibration> stored_calibration(const Machine& machine) {
  const auto file = calibration_file();
  std::error_code ignored;  // nobody else's folder ends a job
  if (!file || !std::filesystem::is_regular_file(*file, ignored)) return std::nullopt;
  Calibration calibration = parse_calibration(read_file(*file), file->string());
  if (calibration.machine != machine) return std::nullopt;
  return calibration;
}

bool has_selection(const Calibration& calibration, int ranks) {
  return ranks <= kMostSelectedRanks && calibration.selections.upper_bound(ranks) != calibration.selections.begin();
}

Selection stored_selection(const Calibration& calibration, int ranks) {
  if (!has_selection(calibration, ranks)) return built_in_selection(ranks);
  return std::prev(calibration.selections.upper_bound(ranks))->second;
}

}  // namespace lockstep
