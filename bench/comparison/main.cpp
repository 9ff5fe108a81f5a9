// Behind bench/compare, which builds this and the peers.
#include "bench/comparison/report.h"
#include "bench/comparison/sections.h"
#include "bench/usage.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace lockstep::compare;

struct Arguments {
  std::vector<std::string> names;
  std::string results = "build/compare/results";
  std::string report;
  std::string code;
  bool quick = false;
  bool only_report = false;
  double min_seconds = 0.25;
};

/// The sections of those names; all where none is given.
std::vector<Section> choose(const std::vector<Section>& all, const std::vector<std::string>& names) {
  if (names.empty()) return all;
  std::vector<Section> chosen;
  for (const std::string& name : names) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Section& one) { return one.name == name; });
    if (found == all.end()) {
      std::string known;
      for (const Section& one : all) known += " " + one.name;
      throw std::invalid_argument(fmt::format("There is no section '{}'; known:{}.", name, known));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

std::uint64_t run(const Arguments& arguments, const std::filesystem::path& programs) {
  const std::vector<Section> all = arguments.quick ? quick_sections() : all_sections();
  std::uint64_t wrong = 0;
  const RunOptions options{programs, arguments.quick ? 0.01 : arguments.min_seconds, arguments.code};
  for (const Section& section : arguments.only_report ? std::vector<Section>() : choose(all, arguments.names)) {
    const SectionResult result = run_section(section, options);
    for (const Cell& cell : result.cells) wrong += cell.wrong;
    save(result, arguments.results);
  }
  if (!arguments.report.empty()) write_report(load(all, arguments.results), arguments.report);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures Lockstep beside other libraries on this machine", "bench/compare");
  Arguments arguments;
  app.add_option("sections", arguments.names, "shm-2, shm-4, shm-8, cold-2, tcp-2, tcp-4, shaped-2 (default: all)");
  app.add_option("--results", arguments.results, "The folder that numbers are kept in, a file a section");
  app.add_option("--report", arguments.report, "Write the page of all sections that were measured, and its pictures");
  app.add_option("--code", arguments.code, "What the page is to call the code that is measured: a commit and a day");
  app.add_option("--min-seconds", arguments.min_seconds, "For each library at each size (default: 0.25)");
  app.add_flag("--only-report", arguments.only_report, "Measure nothing");
  app.add_flag("--quick", arguments.quick, "A few small sizes, to see that it works");
  if (const auto end = lockstep::read_arguments(app, "bench/compare", argc, argv)) return *end;
  try {
    const std::uint64_t wrong = run(arguments, std::filesystem::read_symlink("/proc/self/exe").parent_path());
    if (wrong > 0) fmt::print(stderr, "bench/compare: {} elements were wrong.\n", wrong);
    return wrong > 0 ? 1 : 0;
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "bench/compare: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench/compare: {}\n", error.what());
    return 1;
  }
}
