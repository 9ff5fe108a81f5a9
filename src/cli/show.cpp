#include "base/nearest.h"
#include "base/refuse.h"
#include "base/standard_streams.h"
#include "cli/command.h"
#include "cli/schedule_argument.h"
#include "schedule/drawing.h"
#include "schedule/promise.h"
#include "schedule/proof.h"
#include "schedule/text.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <cstdint>
#include <cstdio>
#include <memory>

namespace lockstep::cli {

namespace {

struct ShowOptions {
  ScheduleArgument schedule;
  std::string format = "text";
  std::string output;
};

/// Each is some 650 bytes while JSON is made of it; other forms take a tenth of that.
constexpr std::int64_t kMostTransfersInJson = std::int64_t{1} << 20;

void require_room_in_json(const Schedule& schedule) {
  if (transfers_of(schedule) <= kMostTransfersInJson) return;
  refuse(
      fmt::format("The schedule '{}' has {} transfers, and JSON is made of at most {}; ask for fewer ranks or "
                  "segments, or for --format schedule.",
                  schedule.name, transfers_of(schedule), kMostTransfersInJson));
}

/// As wide as the terminal that it goes to; files and pipes have the same width everywhere.
std::string text_for(const Schedule& schedule, const std::string& output) {
  const int columns = output.empty() ? terminal_width(stdout) : 0;
  return columns > 0 ? draw_text(schedule, columns) : draw_text(schedule);
}

std::string drawn(const Schedule& schedule, const ShowOptions& options) {
  const std::string& format = options.format;
  if (format == "json") require_room_in_json(schedule);
  if (format == "text") return text_for(schedule, options.output);
  if (format == "svg") return draw_svg(schedule);
  if (format == "json") return draw_json(schedule);
  if (format == "schedule") return to_text(schedule);
  throw Error(ErrorCode::kInvalidArgument, fmt::format("There is no format '{}'. {}", format,
                                                       suggestion(format, {"text", "svg", "json", "schedule"})));
}

}  // namespace

void add_show(Program& program) {
  CLI::App* command =
      program.app.add_subcommand("show", "Draw a schedule: what moves in each step, and who holds what");
  auto options = std::make_shared<ShowOptions>();
  options->schedule.add_to(*command);
  command->add_option("--format", options->format,
                      "text (default), svg (a picture), json, or schedule: the form that `show` and `prove` read");
  command->add_option("-o,--output", options->output, "Write to a file instead")->type_name("FILE");
  command->callback([&program, options] {
    require_writable(options->output);
    const Schedule schedule = options->schedule.load();
    write_output(options->output, drawn(schedule, *options));
    // A schedule that would not run is drawn all the same, so that one sees why.
    if (const Proof proof = prove(schedule); !proof.proved()) {
      say_error(fmt::format("lockstep: The schedule '{}' is refused: {}\n", schedule.name, describe(*proof.refusal)));
      program.exit_code = 1;
    }
  });
}

}  // namespace lockstep::cli
