#include "planner/pricing/price_report.h"

#include "base/collective.h"
#include "base/folded.h"
#include "base/units.h"
#include "planner/pricing/sweep_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace lockstep {

namespace {

constexpr std::size_t kColumns = 100;  ///< of sentences; tables take what they need

std::string calibration_text(const Calibration& calibration, Medium medium) {
  const bool in_memory = medium == Medium::kSharedMemory;
  return fmt::format("this machine as calibrated ({}, {}), over {}; of what was held back it predicts {}",
                     calibration.machine.processor,
                     counted(static_cast<std::uint64_t>(calibration.machine.cores), "core"), in_memory ? "shm" : "tcp",
                     to_text(in_memory ? calibration.held_back : calibration.tcp.held_back));
}

std::string network_text(const PricedNetwork& network) {
  if (network.calibration) return calibration_text(*network.calibration, network.medium);
  if (network.description) return network.description->name;
  const FlatCost flat = network.flat.value_or(FlatCost{});
  return fmt::format("flat network, alpha {} a message, {:g} GB/s a port each way, gamma {:g} ns/B{}",
                     format_seconds(flat.alpha_s), 1e-9 / flat.beta_s, 1e9 * flat.gamma_s,
                     network.local_size
                         ? fmt::format(", {} a host", counted(static_cast<std::uint64_t>(*network.local_size), "rank"))
                         : std::string());
}

/// Rows of cells as columns; the first row is the heading. Numbers stand right, the first column left.
std::string columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_left = i == 0 || i + 1 == row.size();
      line += is_left ? fmt::format("{:<{}}  ", row[i], widths[i]) : fmt::format("{:>{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

/// "out 50/100%": the mean link of a kind and the busiest one.
std::string use_text(const Price& price) {
  std::string text;
  for (const LinkUse& use : price.links.by_kind) {
    text += fmt::format("{}{} {:.0f}/{:.0f}%", text.empty() ? "" : ", ", to_string(use.kind), 100 * use.mean,
                        100 * use.most);
  }
  return text.empty() ? "-" : text;
}

std::vector<std::string> row_of(const Price& price) {
  if (price.source == Price::Source::kNone) return {price.algorithm, "-", "-", "-", "-", "-", "-", "-", "none"};
  const Estimate& estimate = price.estimate;
  std::string rank = "-";
  std::string link = "-";
  if (estimate.bytes > 0) {
    const Busiest& busiest = price.busiest;
    rank = fmt::format("{}: {}", busiest.rank, format_rounded_bytes(busiest.sent_bytes + busiest.received_bytes));
    link = fmt::format("{} to {}: {}", busiest.link.from, busiest.link.to, format_rounded_bytes(busiest.link.bytes));
  }
  return {price.algorithm,
          fmt::format("{:.0f}", estimate.steps),
          format_rounded_bytes(estimate.bytes),
          format_rounded_bytes(estimate.most_sent_bytes),
          rank,
          link,
          use_text(price),
          format_seconds(estimate.seconds),
          std::string(to_string(price.source))};
}

bool moves_bytes(const PriceRequest& request) { return request.collective != Collective::kBarrier; }

std::string sweep_text(const Sweep& sweep, const PriceReport& report) {
  std::string where;
  if (sweep.axis == Sweep::Axis::kBytes) {
    where = fmt::format("At {}, by bytes", counted(static_cast<std::uint64_t>(report.request.ranks), "rank"));
  } else if (moves_bytes(report.request)) {
    where = fmt::format("At {}, by ranks, at powers of two", format_rounded_bytes(report.request.bytes));
  } else {
    where = "By ranks, at powers of two";
  }
  std::string text = fmt::format("\n{}\n", folded(where + ": " + fastest_text(sweep), kColumns, "  "));
  std::vector<std::vector<std::string>> rows{{"  from", "is faster", "than"}};
  for (const Crossing& crossing : crossings(sweep)) {
    rows.push_back({"  " + point_text(sweep.axis, crossing.at), crossing.above, crossing.below});
  }
  if (rows.size() > 1) text += columns(rows);
  for (const std::string& note : notes_on(sweep)) text += fmt::format("  {}\n", folded(note, kColumns - 2, "    "));
  return text;
}

std::string why_no_links(const Price& price) {
  if (price.source == Price::Source::kCalibrated) return "since a calibration knows of none";
  if (price.links.by_kind.empty()) return "since none is in use";
  return fmt::format("since more than {} are in use", kMostNamedLinks);
}

std::string each_link_text(const Price& price) {
  if (price.links.each.empty())
    return fmt::format("\n{}: no links are listed, {}\n", price.algorithm, why_no_links(price));
  std::string text = fmt::format("\n{}: how much of the time each link is in use\n", price.algorithm);
  std::vector<std::vector<std::string>> rows;
  for (const NamedUse& use : price.links.each) {
    rows.push_back({"  " + use.link, fmt::format("{:.1f}%", 100 * use.use), ""});
  }
  return text + columns(rows);
}

nlohmann::json busiest_json(const Busiest& busiest) {
  const auto& [from, to, bytes] = busiest.link;
  return {{"busiest_rank", busiest.rank},
          {"busiest_rank_sent_bytes", busiest.sent_bytes},
          {"busiest_rank_received_bytes", busiest.received_bytes},
          {"busiest_link", {{"from", from}, {"to", to}, {"bytes", bytes}}}};
}

nlohmann::json counts_json(const Counts& counts) {
  nlohmann::json json{{"transfers", counts.transfers}};
  constexpr int kMostRanksListed = 1024;
  if (counts.ranks <= kMostRanksListed) {
    for (const Counts::Rank& rank : counts.by_rank) {
      json["by_rank"].push_back({{"sent_bytes", rank.sent_bytes},
                                 {"received_bytes", rank.received_bytes},
                                 {"reduced_bytes", rank.reduced_bytes}});
    }
  }
  return json;
}

nlohmann::json price_to_json(const Price& price) {
  nlohmann::json json{{"algorithm", price.algorithm}, {"source", to_string(price.source)}};
  if (!price.note.empty()) json["note"] = price.note;
  if (price.source == Price::Source::kNone) return json;
  json["seconds"] = price.estimate.seconds;
  json["steps"] = price.estimate.steps;
  json["messages"] = price.estimate.messages;
  json["bytes"] = price.estimate.bytes;
  json["most_sent_bytes"] = price.estimate.most_sent_bytes;
  json.update(busiest_json(price.busiest));
  if (price.counts) json.update(counts_json(*price.counts));
  for (const LinkUse& use : price.links.by_kind) {
    json["link_use"][std::string(to_string(use.kind))] = {
        {"mean", use.mean}, {"most", use.most}, {"busiest", use.busiest}};
  }
  for (const NamedUse& use : price.links.each) json["links"][use.link] = use.use;
  return json;
}

nlohmann::json sweep_json(const Sweep& sweep) {
  nlohmann::json json{{"points", sweep.points}};
  for (const Sweep::Curve& curve : sweep.curves) {
    nlohmann::json& seconds = json["seconds"][curve.algorithm] = nlohmann::json::array();
    for (const auto& value : curve.seconds) seconds.push_back(value ? nlohmann::json(*value) : nlohmann::json(nullptr));
    json["sources"][curve.algorithm] = sources_text(curve);
  }
  for (const char* list : {"crossings", "fastest", "not_compared"}) json[list] = nlohmann::json::array();
  for (const Crossing& crossing : crossings(sweep)) {
    json["crossings"].push_back({{"at", crossing.at}, {"below", crossing.below}, {"above", crossing.above}});
  }
  for (const FastestFrom& range : fastest(sweep)) {
    json["fastest"].push_back({{"from", range.from}, {"algorithm", range.algorithm}, {"alike", range.alike}});
  }
  if (ends_between(sweep)) {
    json["fastest_at_the_end"] = {{"at", sweep.points.back()}, {"algorithm", fastest_at_the_end(sweep)}};
  }
  for (const NotCompared& range : not_compared(sweep)) {
    json["not_compared"].push_back({{"algorithm", range.algorithm}, {"from", range.from}, {"to", range.to}});
  }
  return json;
}

}  // namespace

std::string price_table(const PriceReport& report, bool each_link) {
  std::string text =
      fmt::format("{}{}{} on {}{}: {}\n\n", to_string(report.request.collective),
                  moves_bytes(report.request) ? " of " + format_rounded_bytes(report.request.bytes) : "",
                  has_root(report.request.collective) ? fmt::format(" with root {}", report.request.root) : "",
                  counted(static_cast<std::uint64_t>(report.request.ranks), "rank"),
                  report.request.segments > 1 ? fmt::format(" in {} segments", report.request.segments) : "",
                  network_text(report.network));
  std::vector<std::vector<std::string>> rows{{"algorithm", "steps", "sent in all", "most sent", "busiest rank",
                                              "busiest pair", "links in use, mean/most", "time", "by"}};
  for (const Price& price : report.prices) rows.push_back(row_of(price));
  text += columns(rows);
  bool has_notes = false;
  for (const Price& price : report.prices) {
    if (price.note.empty()) continue;
    text += fmt::format("{}  {}: {}\n", has_notes ? "" : "\n", price.algorithm, price.note);
    has_notes = true;
  }
  for (const Sweep& sweep : report.sweeps) {
    if (moves_bytes(report.request) || sweep.axis == Sweep::Axis::kRanks) text += sweep_text(sweep, report);
  }
  for (const Price& price : report.prices) {
    if (each_link && price.source != Price::Source::kNone) text += each_link_text(price);
  }
  return text;
}

std::string price_json(const PriceReport& report) {
  nlohmann::json json{{"collective", to_string(report.request.collective)},
                      {"world_size", report.request.ranks},
                      {"root", report.request.root},
                      {"bytes", report.request.bytes},
                      {"segments", report.request.segments},
                      {"network", network_text(report.network)},
                      {"rows", nlohmann::json::array()}};
  if (report.network.flat && !report.network.description) {
    json["alpha_s"] = report.network.flat->alpha_s;
    json["beta_s"] = report.network.flat->beta_s;
    json["gamma_s"] = report.network.flat->gamma_s;
  }
  for (const Price& price : report.prices) json["rows"].push_back(price_to_json(price));
  for (const Sweep& sweep : report.sweeps) {
    json[sweep.axis == Sweep::Axis::kBytes ? "over_bytes" : "over_ranks"] = sweep_json(sweep);
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";  // a file's name may be any bytes
}

}  // namespace lockstep
