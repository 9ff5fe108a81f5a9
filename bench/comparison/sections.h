#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::compare {

/// One library, with one kind of memory, in one section.
struct Subject {
  std::string label;    ///< "Lockstep, registered"
  std::string program;  ///< "lockstep", "open_mpi" or "gloo": compare_<program> is what runs
  bool plain = true;
};

/// A run in which all subjects take turns at each size.
struct Section {
  std::string name;  ///< as typed, and of its file: "shm-2"
  int ranks = 2;
  bool tcp = false;  ///< every subject's bytes go through sockets
  bool cold = false;
  bool shaped = false;  ///< bench/compare runs it where the line is slow
  std::vector<std::size_t> sizes;
  std::vector<Subject> subjects;
};

/// All, in the order of the report.
std::vector<Section> all_sections();
/// Few and small ones, for a test.
std::vector<Section> quick_sections();

/// In sections of cold buffers, the subject under which the limit stands: what 2pn bytes of memory traffic take at the
/// rate of copies that were made in the same rounds.
inline constexpr const char* kLimitSubject = "limit of the copies";

/// One subject at one size.
struct Cell {
  std::string subject;
  std::size_t bytes = 0;
  double median_us = 0;  ///< 0: it gave no answer
  double p99_us = 0;
  std::uint64_t wrong = 0;
  std::size_t iterations = 0;
};

struct SectionResult {
  std::string section;
  int ranks = 2;
  bool tcp = false;
  bool cold = false;
  bool shaped = false;
  std::string code;                 ///< which was measured, and when: "288a633 on 2026-11-25"; empty where nobody said
  double limit_gb_per_s = 0;        ///< memory traffic of copies on all ranks, in the same run
  std::vector<std::string> silent;  ///< "Gloo: why it gave no answer"
  std::vector<Cell> cells;

  const Cell* find(const std::string& subject, std::size_t bytes) const;
};

struct RunOptions {
  std::filesystem::path programs;  ///< the folder of lockstep and compare_*
  double min_seconds = 0.25;       ///< for each subject at each size
  std::string code;                ///< SectionResult::code
};

/// Starts the peers that are built, measures, ends them.
SectionResult run_section(const Section& section, const RunOptions& options);

void save(const SectionResult& result, const std::filesystem::path& folder);
/// Those of `sections` that were saved.
std::vector<SectionResult> load(const std::vector<Section>& sections, const std::filesystem::path& folder);

}  // namespace lockstep::compare
