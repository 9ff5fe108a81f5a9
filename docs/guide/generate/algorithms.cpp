// Writes docs/guide/algorithms.md and its pictures from the catalogue: `algorithms FOLDER`. scripts/generate_guide.sh
// runs it, and a test compares what it writes with what is in the repository.
#include "algorithms/catalog.h"
#include "base/atomic_file.h"
#include "planner/network/closed_form.h"
#include "planner/network/two_level_form.h"
#include "schedule/drawing.h"
#include "schedule/promise.h"
#include "schedule/proof.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

constexpr int kRanksDrawn = 4;
constexpr int kRanksAHost = 2;  // of what is composed
constexpr std::string_view kComposition = "hierarchical:ring,ring";

/// What moves, counted in the schedule: in multiples of the whole buffer, so that it holds for any size.
struct Cost {
  std::size_t steps = 0;
  double sent = 0;     ///< by all ranks together
  double busiest = 0;  ///< sent by the rank that sends most
  double between = 0;  ///< sent from host to host
};

bool is_composed(const Algorithm& algorithm) { return composition_of(algorithm.name).has_value(); }

Cost cost_of(const Schedule& schedule, int ranks_a_host = kRanksAHost) {
  std::vector<int> sends(static_cast<std::size_t>(schedule.ranks));
  int all = 0;
  int between = 0;
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step) {
      ++sends[static_cast<std::size_t>(transfer.from)];
      ++all;
      if (transfer.from / ranks_a_host != transfer.to / ranks_a_host) ++between;
    }
  }
  // Of one buffer: an all_to_all has a chunk for each pair of ranks.
  const int buffers = schedule.collective == Collective::kAllToAll ? schedule.ranks : 1;
  const double chunks = static_cast<double>(schedule.chunks) / buffers;
  return {schedule.steps.size(), all / chunks, *std::max_element(sends.begin(), sends.end()) / chunks,
          between / chunks};
}

/// The collective that an algorithm is shown with: all_reduce, where it does that.
Collective shown(const Algorithm& algorithm) {
  return algorithm.supports(Collective::kAllReduce) ? Collective::kAllReduce : algorithm.collectives.front();
}

/// Of a composition, neighbours share a host.
Schedule schedule_of(const Algorithm& algorithm, int ranks, int ranks_a_host = kRanksAHost) {
  ScheduleRequest request{.collective = shown(algorithm), .ranks = ranks};
  for (int rank = 0; rank < ranks && is_composed(algorithm); ++rank) request.hosts.push_back(rank / ranks_a_host);
  return algorithm.build(request);
}

std::string_view order_of_summation(const Schedule& schedule) {
  if (!sums_values(schedule.collective)) return "nothing is summed";
  return prove(schedule).canonical ? "canonical" : "its own";
}

/// "everybody sends" as the beginning of a sentence.
std::string capitalised(std::string words) {
  words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return words;
}

/// Of what is only a barrier there are messages, of no bytes.
std::string message_table(const Algorithm& algorithm) {
  std::string table = "| ranks | steps | messages in all | messages of the busiest rank |\n| --- | --- | --- | --- |\n";
  for (const int ranks : {2, 3, 4, 8, 16}) {
    const Cost cost = cost_of(schedule_of(algorithm, ranks));
    fmt::format_to(std::back_inserter(table), "| {} | {} | {:.4g} | {:.4g} |\n", ranks, cost.steps, cost.sent,
                   cost.busiest);
  }
  return table;
}

std::string cost_table(const Algorithm& algorithm) {
  if (shown(algorithm) == Collective::kBarrier) return message_table(algorithm);
  std::string table =
      "| ranks | steps | sent in all | sent by the busiest rank | order of summation |\n| --- | --- | --- | --- | --- "
      "|\n";
  for (const int ranks : {2, 3, 4, 8, 16}) {
    const Schedule schedule = schedule_of(algorithm, ranks);
    const Cost cost = cost_of(schedule);
    fmt::format_to(std::back_inserter(table), "| {} | {} | {:.4g} n | {:.4g} n | {} |\n", ranks, cost.steps, cost.sent,
                   cost.busiest, order_of_summation(schedule));
  }
  return table;
}

/// What a composition is for: what it saves between hosts, beside a ring along the same hosts.
std::string cost_table_on_hosts(const Algorithm& algorithm) {
  std::string table =
      "| hosts x ranks | steps | sent in all | sent by the busiest rank | between hosts | order of summation | the "
      "flat "
      "ring: steps | between hosts |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const auto& [hosts, ranks] : {std::pair{2, 2}, {4, 2}, {2, 8}, {8, 8}}) {
    const Schedule schedule = schedule_of(algorithm, hosts * ranks, ranks);
    const Cost cost = cost_of(schedule, ranks);
    const Cost flat = cost_of(schedule_of(find_algorithm("ring"), hosts * ranks), ranks);
    fmt::format_to(std::back_inserter(table),
                   "| {} x {} | {} | {:.4g} n | {:.4g} n | {:.4g} n | {} | {} | {:.4g} n |\n", hosts, ranks, cost.steps,
                   cost.sent, cost.busiest, cost.between, order_of_summation(schedule), flat.steps, flat.between);
  }
  return table;
}

/// The time of each collective, as the closed forms (planner/network/closed_form.h) say it.
std::string time_table(const Algorithm& algorithm) {
  std::string table = "\n| collective | time |\n| --- | --- |\n";
  for (const Collective collective : algorithm.collectives) {
    const ClosedForm* form = find_closed_form(algorithm.name, collective);
    if (form == nullptr) continue;
    fmt::format_to(std::back_inserter(table), "| {} | `{}` |\n", to_string(collective), form->formula);
  }
  return table;
}

/// Of a composition on hosts of L ranks, if its formula is known.
std::string time_on_hosts(const Composition& parts) {
  std::string text;
  for (const Collective collective : {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather}) {
    const auto form = two_level_form(parts.local, parts.global, kRanksAHost, collective);
    if (!form) continue;
    fmt::format_to(std::back_inserter(text), "{} {} takes {}", text.empty() ? "\nOn hosts of L ranks" : ";",
                   to_string(collective), form->formula);
  }
  return text.empty() ? text : text + ".\n";
}

/// A name that a file may have: "hierarchical:ring,ring" has characters that some do not like.
std::string picture_of(const Algorithm& algorithm) {
  std::string name = algorithm.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == ','; }, '-');
  return fmt::format("pictures/algorithms/{}.svg", name);
}

/// Of `lockstep show`, beside the name and the number of ranks.
std::string options_of(const Algorithm& algorithm) {
  if (is_composed(algorithm)) return fmt::format(" --local-size {}", kRanksAHost);
  if (shown(algorithm) == Collective::kAllReduce) return "";
  return fmt::format(" --collective {}", to_string(shown(algorithm)));
}

std::string section(const Algorithm& algorithm) {
  std::vector<std::string_view> collectives;
  for (const Collective collective : algorithm.collectives) collectives.push_back(to_string(collective));
  return fmt::format(
      "\n## {0}\n\n{1}.\n\n**Use it** {2}.\n\nIt does: {3}. Here {4} on {5} ranks (`lockstep show {0} -n {5}{6} "
      "--format svg`):\n\n"
      "![{0}: {4} on {5} ranks]({7})\n\n{8}",
      algorithm.name, capitalised(algorithm.description), algorithm.use, fmt::join(collectives, ", "),
      to_string(shown(algorithm)), kRanksDrawn, options_of(algorithm), picture_of(algorithm),
      is_composed(algorithm) ? cost_table_on_hosts(algorithm) + time_on_hosts(*composition_of(algorithm.name))
                             : cost_table(algorithm) + time_table(algorithm));
}

constexpr std::string_view kBeginning = R"(# The algorithms

*This page and its pictures are written by `scripts/generate_guide.sh` from the catalogue.*

A collective is a schedule: steps of transfers between ranks. Each algorithm below is a way to write one; all of them work
for any number of ranks p, and tests prove each. In a picture, ranks stand side by side and time goes down. A box is a chunk
of a rank's buffer; it fills as the ranks' contributions arrive. A solid arrow is a reduce, which adds to what is
there, a dashed one a copy, which takes its place.

What an algorithm costs is counted in its schedule, for p ranks and a buffer of n bytes. Steps cost latency, bytes cost bandwidth: small
buffers want few steps, large ones little sent by the busiest rank. `lockstep price` turns both into time on a network. On a
flat one the formulas of the literature say the time beforehand: alpha is that of a message, beta that of a byte on its way, gamma that of
reducing a byte, h = ceil(log2 p) ([cost.md](cost.md)). A test holds each to the schedule, from
two ranks on; a collective that a table leaves out has none here. The order
of summation is *canonical* where all elements are summed along the binary tree over the ranks, whatever the buffer's
cuts: then the bits are the same as with any other canonical schedule. Elsewhere the ranks still get the same bits as each other.
)";

constexpr std::string_view kCompositions = R"(
## Compositions: hierarchical:LOCAL,GLOBAL

Any two algorithms that do an all_reduce make a third for ranks on several hosts. The ranks of each host sum as in LOCAL's, up to where
each chunk is summed at some rank; these ranks do GLOBAL's with those that have the same chunk on the other hosts; then the hosts do the
copies of LOCAL's. Only the second part crosses from host to host. Hosts need not have as many ranks as each other, nor neighbours in rank.

What else both do is composed too. A reduce_scatter is LOCAL's on each host and then GLOBAL's among the ranks that stand at the same place
of their hosts; an all_gather is that backwards; each host sends (H-1)/H of a buffer. A broadcast goes between hosts to one rank of each
and on within each host; a reduce comes back that way. Below is one of them.
)";

constexpr std::string_view kPipelines = R"(
## Pipelines: segmented:K:ALGORITHM

Any algorithm or composition with each chunk cut into K segments, which follow each other through the steps, for every
collective that it does: `lockstep bench all_reduce --algorithm segmented:8:double_tree` runs one. Of s steps it makes
s + K - 1, which move the same bytes, summed in the same order. It pays with large buffers where ranks wait for whole chunks
before they pass them on, as in trees, and where the parts of a composition would wait for each other: between hosts `auto`
takes `segmented:16:hierarchical:circulant,ring` for the largest.
)";

std::string page() {
  std::string text{kBeginning};
  for (const Algorithm& algorithm : algorithms()) text += section(algorithm);
  text += kCompositions;
  text += section(find_algorithm(kComposition));
  return text + std::string(kPipelines);
}

void write_picture(const std::filesystem::path& folder, const Algorithm& algorithm) {
  write_file_atomically(folder / picture_of(algorithm), draw_svg(schedule_of(algorithm, kRanksDrawn)));
}

void write_guide(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder / "pictures/algorithms");
  write_file_atomically(folder / "algorithms.md", page());
  for (const Algorithm& algorithm : algorithms()) write_picture(folder, algorithm);
  write_picture(folder, find_algorithm(kComposition));
}

}  // namespace

}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("One argument is needed: the folder to write the guide into.\n", stderr);
    return 2;
  }
  try {
    lockstep::write_guide(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "The guide could not be written: %s\n", error.what());
    return 1;
  }
  return 0;
}
