#include "fuzz/schedule_target.h"

#include "fuzz/require.h"
#include "schedule/concrete_for_tests.h"
#include "schedule/drawing.h"
#include "schedule/proof.h"
#include "schedule/text.h"

#include <lockstep/error.h>

#include <optional>
#include <string>

namespace lockstep::fuzz {

namespace {

std::optional<Schedule> read_schedule(std::string_view text) {
  try {
    return parse_schedule(text, "fuzzed");
  } catch (const Error& error) {
    require(error.code() == ErrorCode::kRefused, "a text that is no schedule is refused");
    require(std::string_view(error.what()).starts_with("fuzzed, line "), "the line is named");
    return std::nullopt;
  }
}

/// Of a chunk, summed in numbers that round: enough that orders of three ranks which differ show.
constexpr int kElements = 16;

/// Proving and drawing are linear in these; a fuzzer wants many short trials.
bool is_small(const Schedule& schedule) {
  std::size_t transfers = 0;
  for (const Step& step : schedule.steps) transfers += step.size();
  return schedule.ranks * schedule.chunks <= 256 && schedule.steps.size() <= 64 && transfers <= 1024;
}

}  // namespace

void read_prove_and_draw(std::string_view text) {
  const std::optional<Schedule> schedule = read_schedule(text);
  if (!schedule) return;
  require(parse_schedule(to_text(*schedule), "written") == *schedule, "what is read comes back as it was written");
  if (!is_small(*schedule)) return;
  const Proof proof = prove(*schedule);
  require(proof.proved() || !describe(*proof.refusal).empty(), "a refusal says why");
  if (proof.proved()) {
    require(concrete::delivers(*schedule), "what is proved delivers, in numbers");
    const concrete::Bits bits = concrete::bits_of(*schedule, kElements);
    require(bits.equal_on_all_ranks, "with the same bits on all ranks");
    require(bits.canonical || !proof.canonical, "and those of the canonical order, where the proof says so");
    require(bits.canonical_in_16_bits || !proof.canonical_in_16_bits, "rounded once in 16 bits, where it says so");
  }
  require(!draw_text(*schedule).empty(), "what is in range is drawn as text");
  require(!draw_json(*schedule).empty(), "and for programs");
  if (schedule->ranks <= 64)
    require(draw_svg(*schedule).size() < 1'000'000, "and as a picture of less than a megabyte");
}

}  // namespace lockstep::fuzz
