#include "planner/selection/selection.h"

#include "algorithms/catalog.h"
#include "base/units.h"
#include "planner/selection/between_hosts.h"
#include "schedule/promise.h"
#include "schedule/relabelled.h"
#include "schedule/text.h"
#include "transport/shm/letterbox.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

namespace lockstep {

namespace {

constexpr std::string_view kSpaces = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

constexpr std::string_view kPlainWord = "plain";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "4KiB", which parse_bytes reads back as the same number.
std::string exact_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits{"", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view source_name) : text_(text), source_name_(source_name) {}

  Selection parse() {
    Selection selection;
    std::string_view rest = text_;
    while (!trimmed(rest).empty()) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      read_collective(trimmed(rest.substr(0, end)), selection);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return selection;
  }

 private:
  [[noreturn]] void fail(std::string_view part, const std::string& sentence) const {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}, at '{}': {}", source_name_, part, sentence));
  }

  /// What a parser of words or numbers says, with the place.
  template <class Parse>
  auto read(std::string_view part, const Parse& parse) const {
    try {
      return parse();
    } catch (const Error& error) {
      fail(part, error.what());
    }
  }

  void read_collective(std::string_view part, Selection& selection) const {
    const std::size_t colon = part.find(':');
    if (part.empty() || colon == std::string_view::npos) {
      fail(part, "A collective and its algorithms are written like 'all_reduce: 0-4KiB direct, 4KiB- ring'.");
    }
    std::string_view name = trimmed(part.substr(0, colon));
    const std::size_t space = name.find_last_of(kSpaces);
    const bool is_plain = space != std::string_view::npos && name.substr(space + 1) == kPlainWord;
    if (is_plain) name = trimmed(name.substr(0, space));
    const Collective collective = read(part, [&] { return parse_collective(name); });
    const bool is_known = !selection.select(collective, 0).empty();
    if (is_plain && !is_known) fail(part, "What holds for plain memory comes after what holds for the collective.");
    const MemoryKind memory = is_plain ? MemoryKind::kPlain : MemoryKind::kRegistered;
    if (is_plain ? selection.has_plain(collective) : is_known) fail(part, "This collective stands here twice.");
    std::vector<Selection::Range> ranges;
    std::uint64_t next = 0;
    bool is_closed = true;  // the last range says where it ends
    for (const std::string_view entry : entries(part.substr(colon + 1))) {
      if (!is_closed) fail(entry, "The range before has no end, so none can follow.");
      ranges.push_back({next, ""});
      std::string_view algorithm = entry;
      if (is_digit(entry.front())) {
        const std::optional<std::uint64_t> end = read_range(entry, next, algorithm);
        is_closed = end.has_value();
        next = end.value_or(0);
      } else {
        is_closed = false;
      }
      check_algorithm(entry, algorithm, collective);
      ranges.back().algorithm = algorithm;
    }
    if (is_closed) fail(part, "The last range must have no upper end, as in '4KiB- ring'.");
    selection.set(collective, ranges, memory);
  }

  /// Entries are parted by commas, but so are the halves of an algorithm's name: a new one starts with a number.
  std::vector<std::string_view> entries(std::string_view text) const {
    std::vector<std::string_view> found;
    std::size_t begin = 0;
    for (std::size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',', comma + 1)) {
      const std::string_view after = trimmed(text.substr(comma + 1));
      if (!after.empty() && !is_digit(after.front())) continue;
      found.push_back(trimmed(text.substr(begin, comma - begin)));
      begin = comma + 1;
    }
    found.push_back(trimmed(text.substr(begin)));
    for (const std::string_view entry : found) {
      if (entry.empty()) fail(text, "An algorithm is missing; write one like '4KiB- ring'.");
    }
    return found;
  }

  /// "0-4KiB direct": its end, none where it is open; the rest is the algorithm.
  std::optional<std::uint64_t> read_range(std::string_view entry, std::uint64_t next,
                                          std::string_view& algorithm) const {
    const std::size_t space = std::min(entry.find_first_of(kSpaces), entry.size());
    const std::string_view range = entry.substr(0, space);
    algorithm = trimmed(entry.substr(space));
    const std::size_t dash = range.find('-');
    if (dash == std::string_view::npos) fail(entry, "A range is written like '0-4KiB' or '4KiB-'.");
    const std::uint64_t from = read(entry, [&] { return parse_bytes(range.substr(0, dash)); });
    if (from != next) {
      fail(entry, fmt::format("Ranges follow each other from 0 on; this one has to start at {}.", exact_bytes(next)));
    }
    if (dash + 1 == range.size()) return std::nullopt;
    const std::uint64_t end = read(entry, [&] { return parse_bytes(range.substr(dash + 1)); });
    if (end <= from) fail(entry, "A range ends above its start.");
    return end;
  }

  void check_algorithm(std::string_view entry, std::string_view name, Collective collective) const {
    if (name.empty()) fail(entry, "An algorithm is missing; write one like '4KiB- ring'.");
    if (name == kVendor) return;
    const Algorithm algorithm = read(entry, [&] { return find_algorithm(name); });
    read(entry, [&] { algorithm.require_support(collective); });
  }

  std::string_view text_;
  std::string_view source_name_;
};

// Measured with `lockstep bench --algorithm all --transport tcp` on one host.

/// Each message costs the same few microseconds: few of them for small buffers, few bytes for large ones.
constexpr const char* kBuiltInOverMessages =
    "all_reduce: 0-64KiB recursive_doubling, 64KiB-1MiB halving_doubling, 1MiB- ring; "
    "reduce_scatter: 0-64KiB halving_doubling, 64KiB- ring; all_gather: 0-64KiB recursive_doubling, 64KiB- ring; "
    "broadcast: 0-64KiB tree, 64KiB- ring; reduce: 0-64KiB tree, 64KiB- ring; gather: star; scatter: star; "
    "all_to_all: pairwise; barrier: recursive_doubling";

/// On one host bytes go nowhere: the cores that all ranks share copy them, so that fewer messages win.
constexpr const char* kBuiltInOverLoopback =
    "all_reduce: 0-64KiB recursive_doubling, 64KiB- halving_doubling; all_gather: recursive_doubling";
constexpr const char* kBuiltInOverLoopbackOfTwo = "all_reduce: 0-256KiB recursive_doubling, 256KiB- halving_doubling";
/// As parts of a world are, or on one core.
constexpr const char* kBuiltInOverLoopbackOfTwoInTurns =
    "all_reduce: 0-384KiB recursive_doubling, 384KiB- halving_doubling";

/// Where ranks take turns, messages that could go side by side are sent one after the other, so that it counts how many
/// there are in all: a star or a tree has fewest. With much to copy, who sends to neighbours has least to wait for,
/// since ranks that take turns have little on its way at a time (transport/tcp/send_buffer.h, piece_bytes.h). Of small
/// blocks it is calls that count, and down a tree the root leaves half of them to the ranks of other cores. Where ranks
/// are no power of two a tree sums on some cores more than on others, and so does halving.
std::string built_in_over_loopback_in_turns(int ranks, int cores) {
  constexpr std::uint64_t kSmallBlock = std::uint64_t{16} << 10U;
  const std::string few = exact_bytes(kSmallBlock * static_cast<std::uint64_t>(ranks));
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(ranks));
  return fmt::format(
      "all_reduce: 0-32KiB star, 32KiB-1MiB tree, 1MiB- ring; broadcast: 0-4MiB tree, 4MiB- {4}; "
      "all_gather: {0}; reduce_scatter: {1}; reduce: {2}; scatter: 0-{3} tree, {3}- star",
      !power_of_two ? "0-128KiB tree, 128KiB- ring"
      : cores == 1  ? "0-512KiB recursive_doubling, 512KiB- ring"
                    : "0-512KiB halving_doubling, 512KiB- ring",
      ranks == 3 ? "0-48KiB halving_doubling, 48KiB-512KiB direct, 512KiB- ring"
                 : "0-512KiB halving_doubling, 512KiB- ring",
      power_of_two ? (ranks > 4 ? "tree" : "0-16KiB star, 16KiB- tree") : "0-1MiB star, 1MiB- ring", few,
      ranks == 3 ? "double_tree" : "ring");
}

/// Through staging memory an exchange of everything costs one meeting where others cost two or more; two ranks copy no
/// more for it, and read one piece and write the next in one pass. More ranks exchange all of it while it is little;
/// a few that take turns then exchange in pairs, since who writes where the other has read has fewest lines to fetch.
std::string plain_all_reduce(int ranks, bool in_turns) {
  constexpr std::uint64_t kExchanged = std::uint64_t{1} << 20U;
  const auto p = static_cast<std::uint64_t>(std::max(ranks, 1));
  if (p <= 2) return "naive";
  if (in_turns && p == 3) return "0-4KiB naive, 4KiB-4MiB recursive_doubling, 4MiB- direct";
  if (in_turns && p == 4) return "0-4KiB naive, 4KiB-64KiB recursive_doubling, 64KiB- direct";
  const std::string end = exact_bytes(std::bit_floor(std::max<std::uint64_t>(1024, kExchanged / (p * p))));
  return fmt::format("0-{0} naive, {0}- direct", end);
}

/// Up a tree of ranks that take turns each core sums what its own ranks bring before anything crosses, if all have as
/// many and both numbers are powers of two; of 3 ranks on 2 cores the root has only one to hear of from the other,
/// until it has so much to sum that two trees, which share the work, are ahead. On a single core nothing crosses, and a
/// star copies least.
std::string plain_reduce(int ranks, const GroupCores& cores) {
  const auto is_power_of_two = [](int n) { return std::has_single_bit(static_cast<unsigned>(n)); };
  if (ranks <= 2 || cores.count == 1) return "star";
  if (ranks == 3 && cores.count == 2) return "0-512KiB star, 512KiB- double_tree";
  if (cores.take_turns(ranks) && is_power_of_two(ranks) && is_power_of_two(cores.count))
    return "0-4KiB star, 4KiB- tree";
  return "0-64KiB star, 64KiB- double_tree";
}

std::string built_in_of_plain_memory(int ranks, const GroupCores& cores) {
  const bool in_turns = cores.take_turns(ranks);
  const std::string text = "; all_reduce plain: " + plain_all_reduce(ranks, in_turns) +
                           "; broadcast plain: star; reduce plain: " + plain_reduce(ranks, cores);
  return text + (in_turns && ranks == 3 ? "; all_gather plain: 0-8KiB direct, 8KiB-4MiB ring, 4MiB- direct" : "");
}

/// A rank is cheapest left alone for small messages (whole letters, shm/letterbox.h), and many share the work of large
/// ones.
std::string built_in_with_own_cores() {
  return fmt::format(
      "all_reduce: 0-{0} naive, {0}-12KiB star, 12KiB- direct; broadcast: 0-64KiB tree, 64KiB- direct; "
      "reduce: 0-8KiB star, 8KiB- direct",
      shm::Letterbox::kBytes);
}

/// Up to where ranks that take turns on a core want no meeting but one: all they read fits into what it has nearest.
std::string end_of_one_meeting(int ranks) {
  constexpr std::uint64_t kReadAtOnce = std::uint64_t{10} << 10U;
  constexpr std::uint64_t kLine = 64;
  return exact_bytes(std::bit_floor(std::max(kLine, kReadAtOnce / static_cast<std::uint64_t>(ranks))));
}

/// On a single core all is in one cache, and nobody can share the work of summing.
std::string built_in_on_one_core(int ranks) {
  return fmt::format("all_reduce: 0-{0} naive, {0}- star; broadcast: 0-8MiB tree, 8MiB- direct; reduce: star",
                     ranks == 2 ? "32KiB" : end_of_one_meeting(ranks));
}

/// Ranks that take turns on some cores want few meetings for longer; two of them, on cores that others share, one.
std::string built_in_in_turns(int ranks) {
  const std::string all_reduce =
      ranks == 2 ? "0-48KiB naive, 48KiB- direct"
                 : fmt::format("0-{0} naive, {0}-{1}", end_of_one_meeting(ranks),
                               ranks == 3 ? "64KiB star, 64KiB- double_tree" : "256KiB star, 256KiB- direct");
  return fmt::format("all_reduce: {}; broadcast: 0-8MiB tree, 8MiB- direct; reduce: 0-128KiB star, 128KiB- direct",
                     all_reduce);
}

/// Where ranks take turns and each half of them has cores of its own, what is small goes first between the halves, to
/// be passed on in both; but not through staging memory, where it would be copied again.
std::string built_in_of_blocks(int ranks, const GroupCores& cores) {
  if (!cores.take_turns(ranks) || ranks % 2 != 0 || cores.count % 2 != 0) return "; gather: star; scatter: star";
  return "; gather: 0-8KiB tree, 8KiB- star; gather plain: star"
         "; scatter: 0-64KiB tree, 64KiB- star; scatter plain: star";
}

/// Four ranks that take turns exchange blocks pair by pair: not the smallest, where to meet in each pair costs more,
/// nor the largest, where both ways take as long.
std::string all_to_all_over_memory(int ranks, const GroupCores& cores) {
  return ranks == 4 && cores.take_turns(ranks) ? "0-4KiB direct, 4KiB-2MiB pairwise, 2MiB- direct" : "direct";
}

std::string built_in_over_memory(int ranks, const GroupCores& cores) {
  const std::string text = !cores.take_turns(ranks) ? built_in_with_own_cores()
                           : cores.count == 1       ? built_in_on_one_core(ranks)
                                                    : built_in_in_turns(ranks);
  return text + "; reduce_scatter: direct; all_gather: direct; barrier: naive; all_to_all: " +
         all_to_all_over_memory(ranks, cores) + built_in_of_blocks(ranks, cores) +
         built_in_of_plain_memory(ranks, cores);
}

Selection built_in_on_one_host(int ranks, Medium medium, const GroupCores& cores, const char* source) {
  if (medium == Medium::kSharedMemory) return Selection::parse(built_in_over_memory(ranks, cores), source);
  Selection selection = Selection::parse(kBuiltInOverMessages, source);
  if (medium != Medium::kTcp || ranks < 2) return selection;
  const auto prefer = [&](const std::string& text) { selection.override_with(Selection::parse(text, source)); };
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(ranks));
  const bool in_turns = cores.take_turns(ranks);
  if (ranks == 2) {
    prefer(in_turns ? kBuiltInOverLoopbackOfTwoInTurns : kBuiltInOverLoopbackOfTwo);
  } else if (power_of_two) {
    prefer(kBuiltInOverLoopback);
  }
  if (ranks > 2 && in_turns) prefer(built_in_over_loopback_in_turns(ranks, cores.count));
  return selection;
}

}  // namespace

Selection Selection::parse(std::string_view text, std::string_view source_name) {
  return Parser(text, source_name).parse();
}

std::string Selection::to_text() const {
  std::string text;
  const auto add = [&](Collective collective, std::string_view memory, const std::vector<Range>& ranges) {
    text += fmt::format("{}{}{}:", text.empty() ? "" : "; ", to_string(collective), memory);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      text += fmt::format("{} {}-{} {}", i == 0 ? "" : ",", exact_bytes(ranges[i].from_bytes),
                          i + 1 < ranges.size() ? exact_bytes(ranges[i + 1].from_bytes) : "", ranges[i].algorithm);
    }
  };
  for (const auto& [collective, ranges] : ranges_) {
    add(collective, "", ranges);
    if (const auto plain = plain_.find(collective); plain != plain_.end()) {
      add(collective, fmt::format(" {}", kPlainWord), plain->second);
    }
  }
  return text;
}

std::string_view Selection::select(Collective collective, std::uint64_t bytes, MemoryKind memory) const {
  auto ranges = ranges_.find(collective);
  if (ranges == ranges_.end()) return {};
  if (memory == MemoryKind::kPlain && has_plain(collective)) ranges = plain_.find(collective);
  const auto after = std::upper_bound(ranges->second.begin(), ranges->second.end(), bytes,
                                      [](std::uint64_t size, const Range& range) { return size < range.from_bytes; });
  return after == ranges->second.begin() ? std::string_view{} : std::string_view((after - 1)->algorithm);
}

std::vector<Collective> Selection::collectives() const {
  std::vector<Collective> found;
  found.reserve(ranges_.size());
  for (const auto& [collective, ranges] : ranges_) found.push_back(collective);
  return found;
}

void Selection::set(Collective collective, const std::vector<Range>& ranges, MemoryKind memory) {
  std::vector<Range>& joined = (memory == MemoryKind::kPlain ? plain_ : ranges_)[collective];
  joined.clear();
  for (const Range& range : ranges) {
    if (joined.empty() || joined.back().algorithm != range.algorithm) joined.push_back(range);
  }
}

void Selection::override_with(const Selection& other) {
  for (const auto& [collective, ranges] : other.ranges_) {
    ranges_[collective] = ranges;
    plain_.erase(collective);
  }
  for (const auto& [collective, ranges] : other.plain_) plain_[collective] = ranges;
}

void Selection::take_plain_from(const Selection& other) { plain_.insert(other.plain_.begin(), other.plain_.end()); }

Selection built_in_selection(int ranks, Medium medium, const std::vector<int>& hosts, const GroupCores& cores) {
  constexpr const char* kSource = "the built-in selection";
  const std::vector<std::vector<int>> ranks_by_host = ranks_of_hosts(hosts);
  if (ranks_by_host.size() < 2) return built_in_on_one_host(ranks, medium, cores, kSource);
  Selection selection = Selection::parse(kBuiltInOverMessages, kSource);
  selection.override_with(Selection::parse(built_in_between_hosts(ranks_by_host), kSource));
  return selection;
}

std::string select(const Selection& selection, Collective collective, std::uint64_t bytes, MemoryKind memory) {
  return std::string(selection.select(collective, bytes, memory));
}

}  // namespace lockstep
