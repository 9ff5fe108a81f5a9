#include "planner/calibration/calibration.h"

#include "algorithms/catalog.h"
#include "base/atomic_file.h"
#include "base/environment.h"
#include "base/units.h"
#include "schedule/text.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace lockstep {

namespace {

constexpr int kVersion = 31;
constexpr std::size_t kMostCalibrationBytes = std::size_t{64} << 20;

nlohmann::json json_of(const std::vector<Sample>& samples) {
  nlohmann::json json = nlohmann::json::array();
  for (const Sample& sample : samples) {
    json.push_back({{"collective", to_string(sample.collective)},
                    {"algorithm", sample.algorithm},
                    {"ranks", sample.ranks},
                    {"bytes", sample.bytes},
                    {"plain", sample.memory == MemoryKind::kPlain},
                    {"seconds", sample.seconds},
                    {"error", sample.error},
                    {"other_state_s", sample.other_state_s},
                    {"other_state_error", sample.other_state_error},
                    {"predicted_s", sample.predicted_s}});
  }
  return json;
}

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

/// What a damaged file holds, which may be anything, does not reach a terminal as it is.
std::string printable(std::string text) {
  const auto is_other = [](unsigned char c) { return c < ' ' || c > '~'; };
  std::replace_if(text.begin(), text.end(), is_other, '?');
  return text;
}

/// Without what the JSON library calls it, "[json.exception.parse_error.101] ".
std::string reason_of(const std::exception& error) {
  std::string text = error.what();
  if (text.starts_with("[json.")) text.erase(0, text.find("] ") + 2);
  return printable(std::move(text));
}

/// A number from 0 up; JSON has none that is infinite.
double amount_at(const nlohmann::json& json, const char* key) {
  const double value = json.at(key).get<double>();
  if (value >= 0 && std::isfinite(value)) return value;
  fail(fmt::format("'{}' is {}, and must be 0 or more", key, value));
}

double positive_at(const nlohmann::json& json, const char* key) {
  const double value = amount_at(json, key);
  if (value > 0) return value;
  fail(fmt::format("'{}' is 0, and must be more", key));
}

int count_at(const nlohmann::json& json, const char* key, int least = 0, int most = 1 << 20) {
  const nlohmann::json& value = json.at(key);
  if (value.is_number_integer() && value >= least && value <= most) return value.get<int>();
  fail(fmt::format("'{}' is {}, and must be a whole number from {} to {}", key, value.dump(), least, most));
}

/// Of an algorithm that does the collective.
Sample sample_from(const nlohmann::json& json) {
  const Collective collective = parse_collective(json.at("collective").get<std::string>());
  const Algorithm algorithm = find_algorithm(json.at("algorithm").get<std::string>());
  algorithm.require_support(collective);
  return {.collective = collective,
          .algorithm = algorithm.name,
          .ranks = count_at(json, "ranks", 2, kMostCalibratedRanks),
          .bytes = positive_at(json, "bytes"),
          .memory = json.at("plain") ? MemoryKind::kPlain : MemoryKind::kRegistered,
          .seconds = positive_at(json, "seconds"),
          .error = amount_at(json, "error"),
          .other_state_s = amount_at(json, "other_state_s"),
          .other_state_error = amount_at(json, "other_state_error"),
          .predicted_s = amount_at(json, "predicted_s"),
          .job = {}};
}

std::vector<Sample> samples_from(const nlohmann::json& json) {
  std::vector<Sample> samples;
  samples.reserve(json.size());
  for (const nlohmann::json& sample : json) samples.push_back(sample_from(sample));
  return samples;
}

template <class Costs>
Costs costs_from(const nlohmann::json& json, const char* key) {
  Costs costs;
  costs.values = json.at(key);
  for (const double seconds : costs.values) {
    if (!(seconds >= 0 && std::isfinite(seconds)))
      fail(fmt::format("'{}' has {}, and a cost is 0 or more", key, seconds));
  }
  return costs;
}

/// Whose key is a number of ranks.
int ranks_from(const std::string& key) {
  int ranks = 0;
  const char* const end = key.data() + key.size();
  const auto [parsed, error] = std::from_chars(key.data(), end, ranks);
  if (error == std::errc{} && parsed == end && ranks > 0) return ranks;
  fail(fmt::format("'{}' is no number of ranks", key));
}

nlohmann::json json_of(const PredictionError& error) {
  return {{"median_error", error.median}, {"worst_error", error.worst}};
}

PredictionError error_from(const nlohmann::json& json) {
  return {.median = amount_at(json, "median_error"), .worst = amount_at(json, "worst_error")};
}

nlohmann::json json_of(const HeldBack& held_back) {
  return {{"sizes", json_of(held_back.sizes)}, {"ranks", json_of(held_back.ranks)}};
}

HeldBack held_back_from(const nlohmann::json& json) {
  return {.sizes = error_from(json.at("sizes")), .ranks = error_from(json.at("ranks"))};
}

nlohmann::json json_of(const FlatCost& link) {
  return {{"alpha_s", link.alpha_s}, {"beta_s", link.beta_s}, {"gamma_s", link.gamma_s}};
}

FlatCost link_from(const nlohmann::json& json) {
  return {.alpha_s = amount_at(json, "alpha_s"),
          .beta_s = amount_at(json, "beta_s"),
          .gamma_s = amount_at(json, "gamma_s")};
}

nlohmann::json json_of(const Calibration::Tcp& tcp) {
  return {
      {"seconds", tcp.model.seconds.values}, {"link", json_of(tcp.link)},           {"cores", tcp.model.cores},
      {"most_ranks", tcp.model.most_ranks},  {"held_back", json_of(tcp.held_back)}, {"samples", json_of(tcp.samples)}};
}

Calibration::Tcp tcp_from(const nlohmann::json& json) {
  Calibration::Tcp tcp{.model = {.seconds = costs_from<TcpCosts>(json, "seconds"),
                                 .cores = count_at(json, "cores"),
                                 .most_ranks = count_at(json, "most_ranks")},
                       .link = link_from(json.at("link")),
                       .held_back = held_back_from(json.at("held_back")),
                       .samples = samples_from(json.at("samples"))};
  if (tcp.model.cores < 1) fail("TCP was measured on no core");
  return tcp;
}

}  // namespace

std::optional<std::filesystem::path> calibration_file() {
  const auto file = [](const std::filesystem::path& cache) { return cache / "lockstep" / "calibration.json"; };
  // The XDG Base Directory Specification: a path that is not absolute is not meant.
  const std::filesystem::path cache = environment("XDG_CACHE_HOME").value_or("");
  if (cache.is_absolute()) return file(cache);
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
                              {"threads", machine.threads},
                              {"memory_bytes", machine.memory_bytes},
                              {"cache_bytes_first", machine.cache_bytes_first},
                              {"cache_bytes_a_core", machine.cache_bytes_a_core},
                              {"cache_bytes_shared", machine.cache_bytes_shared}}},
                            {"link", json_of(calibration.link)},
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
    if (json.at("version") != kVersion) fail("another version of Lockstep wrote it");
    const nlohmann::json& machine = json.at("machine");
    const auto processor = machine.at("processor").get<std::string>();
    if (std::any_of(processor.begin(), processor.end(), [](unsigned char c) { return c < ' '; }))
      fail("'processor' is no name");
    Calibration calibration{.machine = {.processor = processor,
                                        .cores = count_at(machine, "cores"),
                                        .threads = count_at(machine, "threads"),
                                        .memory_bytes = amount_at(machine, "memory_bytes"),
                                        .cache_bytes_first = amount_at(machine, "cache_bytes_first"),
                                        .cache_bytes_a_core = amount_at(machine, "cache_bytes_a_core"),
                                        .cache_bytes_shared = amount_at(machine, "cache_bytes_shared")},
                            .shm = {.seconds = costs_from<HostCosts>(json, "shm_seconds")},
                            .link = link_from(json.at("link")),
                            .memory_bytes_per_second = amount_at(json, "memory_bytes_per_second"),
                            .held_back = held_back_from(json.at("held_back")),
                            .samples = samples_from(json.at("samples")),
                            .selections = {},
                            .tcp = tcp_from(json.at("tcp"))};
    for (const auto& [ranks, selection] : json.at("selections").items()) {
      calibration.selections[ranks_from(ranks)] = Selection::parse(selection.get<std::string>(), source_name);
    }
    return calibration;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{} is no calibration ({}); measure again with `lockstep calibrate`, or remove it.",
                            source_name, reason_of(error)));
  }
}

std::optional<Calibration> stored_calibration() {
  const auto file = calibration_file();
  std::error_code ignored;  // nobody else's folder ends a job
  if (!file || !std::filesystem::exists(*file, ignored)) return std::nullopt;
  if (!std::filesystem::is_regular_file(*file, ignored)) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{} is no file, and no calibration; remove it, and measure with `lockstep calibrate`.",
                            file->string()));
  }
  const std::string text = read_file(*file, kMostCalibrationBytes + 1);
  if (text.size() > kMostCalibrationBytes) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{} is longer than {}, which no calibration is; remove it, and measure with `lockstep "
                            "calibrate`.",
                            file->string(), format_bytes(kMostCalibrationBytes)));
  }
  return parse_calibration(text, file->string());
}

std::optional<Calibration> stored_calibration(const Machine& machine) {
  auto stored = stored_calibration();
  return stored && stored->machine == machine ? std::move(stored) : std::nullopt;
}

bool has_selection(const Calibration& calibration, int ranks) {
  return ranks <= kMostSelectedRanks && calibration.selections.upper_bound(ranks) != calibration.selections.begin();
}

Selection stored_selection(const Calibration& calibration, int ranks) {
  if (!has_selection(calibration, ranks)) return built_in_selection(ranks);
  return std::prev(calibration.selections.upper_bound(ranks))->second;
}

}  // namespace lockstep
