#include "algorithms/catalog.h"
#include "base/atomic_file.h"
#include "base/collective.h"
#include "base/nearest.h"
#include "base/refuse.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/numbers.h"
#include "cli/schedule_argument.h"
#include "planner/calibration/in_force.h"
#include "planner/pricing/price_plot.h"
#include "planner/pricing/price_report.h"
#include "schedule/proof.h"
#include "schedule/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace lockstep::cli {

namespace {

constexpr int kMostPricedRanks = 1 << 20;
// As many as a host has accelerators.
constexpr int kUsualLocalSize = 8;
// A network card of today: used where nothing else is said, and printed.
constexpr FlatCost kUsualCost{.alpha_s = 5e-6, .beta_s = 1e-10, .gamma_s = 1e-10};

struct PriceOptions {
  std::vector<std::string> what;
  std::string ranks;
  std::string bytes;
  std::string collective;
  std::string root;
  std::string topology;
  std::string calibrated;
  std::string alpha;
  std::string bandwidth;
  std::string gamma;
  std::string local_size;
  std::string over;
  std::string format = "table";
  std::string segments = "1";
  std::string output;
  bool links = false;
};

/// This machine as it was calibrated.
PricedNetwork calibrated_network(const std::string& transport) {
  if (transport != "shm" && transport != "tcp") {
    refuse(fmt::format("There is no calibration of '{}'. {}", transport, suggestion(transport, {"shm", "tcp"})));
  }
  JobCalibration stored = job_calibration();
  if (!stored.calibration) {
    refuse("--calibrated prices by what was measured on this machine, and " +
           (stored.fault.empty() ? "nothing is stored; measure it with: lockstep calibrate" : stored.fault));
  }
  return {.flat = {},
          .description = {},
          .calibration = std::move(stored.calibration),
          .medium = transport == "tcp" ? Medium::kTcp : Medium::kSharedMemory};
}

PricedNetwork network_of(const PriceOptions& options) {
  const bool is_flat = !options.alpha.empty() || !options.bandwidth.empty() || !options.gamma.empty();
  if (!options.calibrated.empty()) {
    if (is_flat || !options.local_size.empty() || !options.topology.empty()) {
      refuse("--calibrated is this machine; leave out --topology, --alpha, --bandwidth, --gamma and --local-size.");
    }
    return calibrated_network(options.calibrated);
  }
  if (options.topology.empty()) {
    FlatCost cost = kUsualCost;
    if (!options.alpha.empty()) cost.alpha_s = parse_value("--alpha", options.alpha, parse_seconds);
    if (!options.bandwidth.empty()) cost.beta_s = 1 / parse_value("--bandwidth", options.bandwidth, parse_bandwidth);
    if (!options.gamma.empty()) cost.gamma_s = parse_value("--gamma", options.gamma, parse_seconds_per_byte);
    return {.flat = cost,
            .description = {},
            .local_size =
                options.local_size.empty() ? kUsualLocalSize : parse_local_size(options.local_size, kMostPricedRanks)};
  }
  if (is_flat || !options.local_size.empty()) {
    refuse("--topology FILE describes the network; leave out --alpha, --bandwidth, --gamma and --local-size.");
  }
  std::error_code ignored;  // what cannot be looked at is no file either
  if (!std::filesystem::is_regular_file(options.topology, ignored)) {
    refuse(fmt::format("There is no file '{}' with a topology.", options.topology));
  }
  const std::string text = read_file(options.topology, kMostNetworkTextBytes + 1);
  return {.flat = {}, .description = parse_network(text, options.topology)};
}

/// Refuses ranks of which the calibration knows nothing.
void require_calibrated(int ranks, const PricedNetwork& network) {
  const bool in_memory = network.medium == Medium::kSharedMemory;
  const int most = in_memory ? kMostSelectedRanks : network.calibration->tcp.model.most_ranks;
  if (most == 0) {
    refuse("TCP was not measured on this machine; `lockstep calibrate` measures it, or says why it cannot.");
  }
  if (ranks >= 2 && ranks <= most) return;
  refuse(fmt::format("The calibration over {} prices 2 to {} ranks; -n says {}.{}", in_memory ? "shm" : "tcp", most,
                     ranks, in_memory ? "" : " `lockstep calibrate -n N` measures up to N."));
}

PriceRequest request_of(const PriceOptions& options, const PricedNetwork& network) {
  PriceRequest request;
  if (!options.collective.empty()) request.collective = parse_collective(options.collective);
  if (!options.bytes.empty() && request.collective == Collective::kBarrier) {
    refuse("--bytes is of buffers, and a barrier has none; leave it out.");
  }
  if (!options.bytes.empty()) {
    request.bytes = static_cast<double>(parse_value("--bytes", options.bytes, parse_bytes));
  } else if (request.collective != Collective::kBarrier) {
    refuse("--bytes says how much is moved, as in: --bytes 8MiB");
  }
  request.segments = parse_segments(options.segments);
  if (!options.ranks.empty()) {
    request.ranks = parse_ranks(options.ranks);
  } else if (network.description) {
    request.ranks = network.description->ranks;
  } else {
    refuse("A price needs a number of ranks, as in: lockstep price all -n 8 --bytes 8MiB");
  }
  if (request.ranks > kMostPricedRanks) {
    refuse(fmt::format("Prices are for at most {} ranks; -n says {}.", format_count(kMostPricedRanks), request.ranks));
  }
  if (!options.root.empty()) {
    require_root(request.collective);
    request.root = parse_root(options.root, request.ranks);
  }
  if (!options.local_size.empty()) (void)parse_local_size(options.local_size, request.ranks);
  if (network.calibration) {
    require_calibrated(request.ranks, network);
    request.most_transfers = kMostCalibratedTransfers;
  }
  return request;
}

std::vector<std::string> chosen_algorithms(const std::vector<std::string>& what, const PriceRequest& request,
                                           const PricedNetwork& network) {
  std::vector<std::string> names;
  const auto add = [&names](std::string name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  };
  for (const std::string& word : what) {
    if (word == "all") {
      for (std::string& name : all_algorithms(request.collective, network.hosts_of(request.ranks))) {
        add(std::move(name));
      }
    } else {
      Algorithm algorithm = find_algorithm(word);
      algorithm.require_support(request.collective);
      require_one_cut(algorithm.name, request.segments);
      add(std::move(algorithm.name));
    }
  }
  return names;
}

PriceReport report_on_file(const PriceOptions& options) {
  const Schedule schedule = load_schedule(options.what.front());
  require_of_collective(schedule, options.what.front(), options.collective);
  require_of_root(schedule, options.what.front(), options.root);
  if (!options.local_size.empty()) refuse(no_hosts_of_files("--local-size"));
  require_proved(schedule);
  PricedNetwork network = network_of(options);
  PriceOptions filled = options;
  if (filled.ranks.empty()) filled.ranks = std::to_string(schedule.ranks);
  filled.collective = to_string(schedule.collective);
  filled.root = has_root(schedule.collective) ? std::to_string(schedule.root) : "";
  const PriceRequest request = request_of(filled, network);
  if (request.ranks != schedule.ranks) {
    refuse(fmt::format("'{}' is a schedule for {} ranks, not {}; leave out -n.", options.what.front(), schedule.ranks,
                       request.ranks));
  }
  const Schedule whole = in_segments(schedule, options.segments);
  if (transfers_of(whole) > static_cast<std::int64_t>(request.most_transfers)) {
    refuse(fmt::format("'{}' in {} has {} transfers, and at most {} are {}.", options.what.front(),
                       counted(static_cast<std::uint64_t>(request.segments), "segment"),
                       format_count(static_cast<std::uint64_t>(transfers_of(whole))),
                       format_count(static_cast<std::uint64_t>(request.most_transfers)),
                       network.calibration ? "priced by a calibration" : "simulated"));
  }
  std::optional<Price> price = price_schedule(whole, request.bytes, network, request.most_effort);
  if (!price) {
    refuse(
        fmt::format("'{}' is too much work to simulate, since too many of its messages are under way at once; price "
                    "a schedule of fewer ranks, or one that sends fewer in a step.",
                    options.what.front()));
  }
  return {request, std::move(network), {*std::move(price)}, {}};
}

PriceReport report_on_algorithms(const PriceOptions& options) {
  for (const std::string& word : options.what) {
    if (word != "all") (void)find_algorithm(word);
  }
  PricedNetwork network = network_of(options);
  const PriceRequest request = request_of(options, network);
  const std::vector<std::string> names = chosen_algorithms(options.what, request, network);
  PriceReport report{request, std::move(network), {}, {}};
  const bool is_picture = options.format == "svg";
  if (is_picture && request.ranks == 1) {
    refuse("One rank alone takes no time, which no picture shows; ask for -n 2 or more.");
  }
  const bool is_barrier = request.collective == Collective::kBarrier;
  if (is_barrier && options.over == "bytes") {
    refuse("--over bytes is of buffers, and a barrier has none; leave it out.");
  }
  const std::string usual = is_barrier ? "ranks" : "bytes";
  const std::string over = options.over.empty() ? usual : options.over;
  for (const std::string& name : names) {
    report.prices.push_back(price_algorithm(name, request, report.network));
  }
  for (const auto& [axis, word] : {std::pair{Sweep::Axis::kBytes, "bytes"}, {Sweep::Axis::kRanks, "ranks"}}) {
    if (is_barrier && axis == Sweep::Axis::kBytes) continue;
    // One rank alone takes no time, by whatever algorithm.
    if (is_picture ? over == word : names.size() > 1 && request.ranks > 1) {
      report.sweeps.push_back(sweep(axis, names, request, report.network, report.prices));
    }
  }
  return report;
}

/// For a title.
std::string network_name(const PricedNetwork& network) {
  if (network.calibration) {
    return network.medium == Medium::kTcp ? "this machine as calibrated, over tcp"
                                          : "this machine as calibrated, over shm";
  }
  if (network.description) return network.description->name;
  const FlatCost flat = network.flat.value_or(FlatCost{});
  return fmt::format("alpha {}, {:g} GB/s, gamma {:g} ns/B", format_seconds(flat.alpha_s), 1e-9 / flat.beta_s,
                     1e9 * flat.gamma_s);
}

/// What is the same all over a picture: " on 4 ranks" or " of 1 MiB", of which a barrier has none.
std::string what_is_fixed(Sweep::Axis axis, const PriceRequest& request) {
  if (axis == Sweep::Axis::kBytes) {
    return fmt::format(" on {} ranks", format_count(static_cast<std::uint64_t>(request.ranks)));
  }
  if (request.collective == Collective::kBarrier) return "";
  return " of " + format_bytes(static_cast<std::uint64_t>(request.bytes));
}

std::string plot_of(const PriceReport& report) {
  if (report.sweeps.empty()) refuse("A schedule from a file has a price, no picture; use --format table or json.");
  const Sweep& sweep = report.sweeps.front();
  const std::string pipeline =
      report.request.segments > 1 ? fmt::format(" in {} segments", report.request.segments) : std::string();
  return price_plot(
      sweep, fmt::format("{}{}{}: {}", to_string(report.request.collective), what_is_fixed(sweep.axis, report.request),
                         pipeline, network_name(report.network)));
}

void price(const PriceOptions& options) {
  if (options.what.empty())
    refuse("An algorithm, all, or a file with a schedule is needed: lockstep price all -n 8 --bytes 8MiB");
  if (options.format != "table" && options.format != "json" && options.format != "svg") {
    refuse(fmt::format("There is no format '{}'. {}", options.format,
                       suggestion(options.format, {"table", "json", "svg"})));
  }
  if (!options.over.empty() && options.over != "bytes" && options.over != "ranks") {
    refuse(fmt::format("--over takes bytes or ranks; '{}' is neither.", options.over));
  }
  if (!options.over.empty() && options.format != "svg") refuse("--over is for a picture; add --format svg.");
  if (options.links && options.format == "svg") refuse("--links is no part of a picture; leave out one of the two.");
  const std::string& first = options.what.front();
  const bool is_alone = options.what.size() == 1;
  std::error_code ignored;  // what cannot be looked at is no file, and no algorithm either
  const bool is_file = first != "all" && !is_algorithm(first) && (is_alone || std::filesystem::exists(first, ignored));
  if (is_file && !is_alone) refuse("A schedule from a file is priced alone.");
  require_writable(options.output);
  const PriceReport report = is_file ? report_on_file(options) : report_on_algorithms(options);
  if (options.format == "svg") return write_output(options.output, plot_of(report));
  write_output(options.output, options.format == "json" ? price_json(report) : price_table(report, options.links));
}

}  // namespace

void add_price(Program& program) {
  CLI::App* command = program.app.add_subcommand(
      "price", "Say what algorithms cost: steps, bytes, how busy links are, the time, and who is the fastest where");
  auto options = std::make_shared<PriceOptions>();
  command->add_option("what", options->what, "Algorithms (`lockstep info` lists them), all, or a file with a schedule")
      ->type_name("ALGORITHM|all|FILE");
  command->add_option("-n,--ranks", options->ranks, "Ranks (default: those of the topology)")->type_name("N");
  command->add_option("--bytes", options->bytes, "Size of the whole buffer, as 8MiB")->type_name("B");
  command->add_option("--collective", options->collective, "The collective (default: all_reduce)");
  command->add_option("--root", options->root, "Of broadcast, scatter, reduce and gather (default: 0, or the file's)")
      ->type_name("RANK");
  command->add_option("--segments", options->segments, "Price a pipeline of so many slices of each chunk (default: 1)")
      ->type_name("K");
  command->add_option("--topology", options->topology, "A file that describes hosts and links")->type_name("FILE");
  command
      ->add_option("--calibrated", options->calibrated,
                   "shm or tcp: ranks of this machine, as `lockstep calibrate` has measured them")
      ->type_name("TRANSPORT");
  command->add_option("--alpha", options->alpha, "Flat network: a message's time (default: 5us)")->type_name("TIME");
  command->add_option("--bandwidth", options->bandwidth, "Flat network: of each port, each way (default: 10GB/s)");
  command->add_option("--gamma", options->gamma, "Flat network: the time to reduce a byte (default: 0.1ns/B)");
  command
      ->add_option("--local-size", options->local_size, "Flat network: ranks on a host, for hierarchical (default: 8)")
      ->type_name("N");
  command->add_option("--over", options->over,
                      "What a picture goes over: bytes (default) or ranks (of a barrier the default)");
  command->add_flag("--links", options->links, "List how much of the time each link is in use (JSON always does)");
  command->add_option("--format", options->format, "table (default), json, or svg: a picture");
  command->add_option("-o,--output", options->output, "Write to a file instead")->type_name("FILE");
  command->callback([options] { price(*options); });
}

}  // namespace lockstep::cli
