#include "report/trace.h"

#include "base/atomic_file.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

namespace lockstep {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// A part is a JSON array with each span on a line of its own, so that it is read line by line: merging takes the memory
// of one span, however long the training was. The closing bracket shows that the rank wrote all of it.
constexpr std::string_view kOpening = "[";
constexpr std::string_view kClosing = "]";

fs::path part_of(const fs::path& folder, int rank) { return folder / fmt::format("trace.rank{}.json", rank); }

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void write_lines(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  write_file_atomically(path, [&](const fs::path& temporary) {
    errno = 0;
    std::ofstream file(temporary, std::ios::binary);
    if (file) write(file);
    file.close();
    if (file.fail()) {
      throw Error(ErrorCode::kIo, fmt::format("Writing the trace {} failed: {}.", path.string(),
                                              std::generic_category().message(errno)));
    }
  });
}

Json part_line(const TraceSpan& span) {
  return {{"name", span.name},         {"category", span.category},
          {"begin_us", span.begin_us}, {"end_us", std::max(span.begin_us, span.end_us)},
          {"overlaps", span.overlaps}, {"arguments", span.arguments}};
}

// Throws what nlohmann throws, and std::domain_error, for a line that no rank would write.
TraceSpan parse_part_line(std::string_view line) {
  const Json json = Json::parse(line);
  if (!json.at("begin_us").is_number_integer() || !json.at("end_us").is_number_integer()) {
    throw std::domain_error("its times are not whole numbers");
  }
  TraceSpan span;
  span.name = json.at("name").get<std::string>();
  span.category = json.at("category").get<std::string>();
  span.begin_us = json["begin_us"].get<std::int64_t>();
  span.end_us = json["end_us"].get<std::int64_t>();
  span.overlaps = json.at("overlaps").get<bool>();
  span.arguments = json.at("arguments").get<std::map<std::string, std::string>>();
  if (span.begin_us < 0 || span.end_us < span.begin_us) throw std::domain_error("it ends before it begins");
  return span;
}

void for_each_span(const fs::path& path, const std::function<void(const TraceSpan&)>& visit) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorCode::kIo, fmt::format("The trace part {} {}. Trace the run again.", path.string(), why));
  };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot be read: " + std::generic_category().message(errno));
  std::string line;
  if (!std::getline(file, line) || line != kOpening) fail("is not one that a rank writes");
  for (int number = 2; std::getline(file, line); ++number) {
    if (line == kClosing) return;
    if (!line.empty() && line.back() == ',') line.pop_back();
    try {
      visit(parse_part_line(line));
    } catch (const std::exception& error) {
      fail(fmt::format("is damaged in line {}: {}", number, error.what()));
    }
  }
  fail("is cut short");
}

Json name_of(const char* what, int rank, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", rank}, {"args", {{"name", name}}}};
}

// Writes events into the array that the merged file is.
class EventWriter {
 public:
  EventWriter(std::ostream& out, std::int64_t zero_us) : out_(out), zero_us_(zero_us) {}

  // A rank is a process with one thread to viewers: they show asynchronous events by process, and would mix those of
  // ranks that were threads of one.
  void rank(int rank) {
    const std::string name = fmt::format("rank {}", rank);
    event(name_of("process_name", rank, name));
    event(
        {{"name", "process_sort_index"}, {"ph", "M"}, {"pid", rank}, {"tid", rank}, {"args", {{"sort_index", rank}}}});
    event(name_of("thread_name", rank, name));
  }

  void span(int rank, const TraceSpan& span) {
    Json json{{"name", span.name}, {"cat", span.category}, {"ph", "X"},
              {"pid", rank},       {"tid", rank},          {"ts", span.begin_us - zero_us_}};
    if (!span.overlaps) {
      json["dur"] = span.end_us - span.begin_us;
      if (!span.arguments.empty()) json["args"] = span.arguments;
      event(json);
      return;
    }
    json["ph"] = "b";
    // Local to the process: viewers show it below its rank, and not below a heading for all.
    json["id2"] = {{"local", fmt::format("{:#x}", ++last_id_)}};
    if (!span.arguments.empty()) json["args"] = span.arguments;
    event(json);
    json["ph"] = "e";
    json["ts"] = span.end_us - zero_us_;
    json.erase("args");
    event(json);
  }

 private:
  std::ostream& out_;
  std::int64_t zero_us_;
  std::uint64_t last_id_ = 0;
  bool first_ = true;

  void event(const Json& json) {
    out_ << (first_ ? "\n" : ",\n") << dump(json);
    first_ = false;
  }
};

}  // namespace

void TraceRecorder::write(const fs::path& folder) const {
  // By time, and of two that begin together the longer first: so that what encloses stands before what it encloses.
  std::vector<const TraceSpan*> order;
  for (const TraceSpan& span : spans_) order.push_back(&span);
  std::stable_sort(order.begin(), order.end(), [](const TraceSpan* a, const TraceSpan* b) {
    return a->begin_us != b->begin_us ? a->begin_us < b->begin_us : a->end_us > b->end_us;
  });
  write_lines(part_of(folder, rank_), [&](std::ostream& out) {
    out << kOpening << '\n';
    for (std::size_t i = 0; i < order.size(); ++i)
      out << dump(part_line(*order[i])) << (i + 1 < order.size() ? ",\n" : "\n");
    out << kClosing << '\n';
  });
}

std::vector<TimelineSpan> typical_iteration(const fs::path& folder, int world_size) {
  struct Extent {
    std::int64_t begin_us = std::numeric_limits<std::int64_t>::max(), end_us = 0;
    std::set<int> ranks;
  };
  std::map<std::string, Extent> extents;
  for (int rank = 0; rank < world_size; ++rank) {
    for_each_span(part_of(folder, rank), [&](const TraceSpan& span) {
      const auto iteration = span.arguments.find("iteration");
      if (iteration == span.arguments.end()) return;
      Extent& extent = extents[iteration->second];
      extent.begin_us = std::min(extent.begin_us, span.begin_us);
      extent.end_us = std::max(extent.end_us, span.end_us);
      extent.ranks.insert(rank);
    });
  }
  // The median and not the middle one: that may have stopped for an evaluation.
  std::vector<std::pair<std::int64_t, std::string>> lengths;
  for (const auto& [iteration, extent] : extents) {
    if (extent.ranks.size() != static_cast<std::size_t>(world_size)) continue;
    lengths.emplace_back(extent.end_us - extent.begin_us, iteration);
  }
  if (lengths.empty()) return {};
  const auto median = lengths.begin() + static_cast<std::ptrdiff_t>((lengths.size() - 1) / 2);
  std::nth_element(lengths.begin(), median, lengths.end());
  std::vector<TimelineSpan> spans;
  for (int rank = 0; rank < world_size; ++rank) {
    for_each_span(part_of(folder, rank), [&](const TraceSpan& span) {
      const auto iteration = span.arguments.find("iteration");
      if (iteration == span.arguments.end() || iteration->second != median->second) return;
      if (span.category == kIterationCategory) return;
      spans.push_back({rank, span.name, span.category, span.begin_us, span.end_us});
    });
  }
  return spans;
}

void merge_traces(const fs::path& folder, int world_size, const fs::path& output) {
  // Read twice: all parts are seen whole, and the earliest span is known, before a byte of the result is written.
  std::int64_t zero_us = std::numeric_limits<std::int64_t>::max();
  for (int rank = 0; rank < world_size; ++rank) {
    for_each_span(part_of(folder, rank), [&](const TraceSpan& span) { zero_us = std::min(zero_us, span.begin_us); });
  }
  write_lines(output, [&](std::ostream& out) {
    out << R"({"displayTimeUnit":"ms","traceEvents":[)";
    EventWriter events(out, zero_us);
    for (int rank = 0; rank < world_size; ++rank) {
      events.rank(rank);
      for_each_span(part_of(folder, rank), [&](const TraceSpan& span) { events.span(rank, span); });
    }
    out << "\n]}\n";
  });
  for (int rank = 0; rank < world_size; ++rank) fs::remove(part_of(folder, rank));
}

}  // namespace lockstep
