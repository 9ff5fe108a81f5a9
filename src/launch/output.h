#pragma once

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "launch/line_splitter.h"

#include <poll.h>

#include <array>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

enum class Stream { kOutput, kErrors };

/// Where what the ranks print goes: line by line to our stdout and stderr with the rank before each line, as it is to a
/// file for each rank, and its last lines into memory. A progress bar (text that ends with a carriage return) becomes a
/// line at most once a second.
///
/// Where nobody reads what is shown it waits, but not beyond a signal: what could not be shown is kept for later, so
/// that who supervises the ranks can answer it.
class Output {
 public:
  struct Options {
    int ranks = 1;
    std::array<int, 2> descriptors{1, 2};      ///< for Stream::kOutput and kErrors
    std::array<bool, 2> colour{false, false};  ///< each is a terminal that shows colours
    int bare_rank = -1;                        ///< its lines get no prefix
    /// A rank draws a bar on the terminal that the descriptor is too: lines start by erasing what stands in theirs.
    std::array<bool, 2> beside_a_bar{false, false};
    std::optional<std::filesystem::path> log_dir;  ///< made if it is not there
    int interrupts = -1;                           ///< a descriptor that is readable once there is a signal
  };
  static constexpr std::size_t kLastLines = 10;

  /// Throws Error (kInvalidArgument) if the log files cannot be made.
  explicit Output(const Options& options);

  void add(int rank, Stream stream, std::string_view bytes);
  /// The rank has closed the stream: prints what had no line feed.
  void finish(int rank, Stream stream);
  /// A line of our own, on stderr.
  void say(std::string_view line);
  /// Text of our own, on stderr, as it is.
  void tell(std::string_view text);

  /// From now on there are deadlines to keep: waits a second for who reads nothing, and then no more.
  void hurry() { hurried_ = true; }
  /// Where there is room for what was kept: to be polled for beside the ranks' pipes.
  void add_awaited(std::vector<pollfd>& polled) const;
  /// Shows what was kept, as far as there is room.
  void go_on();
  /// At the end, when nothing else is to be done: waits for the reader of what was kept until the next signal.
  void drain();
  /// After that: a line on stderr if there was more to keep than is kept.
  void say_what_was_dropped();

  /// Some of what the ranks wrote could not be shown (a full disk, a stdout that is closed, a reader who slept for too
  /// long), which was said.
  bool lost() const { return lost_ || dropped_ > 0; }
  /// A write found that nobody reads what is shown (`| head`). Where SIGPIPE is ignored nothing else tells.
  bool has_no_reader() const { return has_no_reader_; }
  /// Whether nobody reads our stdout any more.
  bool is_unread() const;
  /// The errors of others than the bare rank from when nobody read its stdout any more: words on its end, or on what
  /// kept it from coming to that. They are held back for some seconds only.
  void show_held_back();

  /// Erases what is left of a bar whose rank could not do it any more.
  void clear_bar();

  /// The last lines of the rank that says_something (launch/failure.h), oldest first, each cut to a few hundred
  /// characters.
  std::vector<std::string> last_lines(int rank) const;

 private:
  struct Rank {
    std::array<LineSplitter, 2> splitters;
    std::array<Clock::time_point, 2> last_update{};
    std::deque<std::string> last_lines;
    FileDescriptor log;
  };
  Options options_;
  std::vector<Rank> ranks_;
  std::array<std::string, 2> unshown_;
  bool hurried_ = false;
  bool stuck_ = false;  ///< the second has passed
  bool lost_ = false;
  std::size_t dropped_ = 0;  ///< bytes
  bool has_no_reader_ = false;
  std::string held_back_;
  Clock::time_point held_since_;

  LineSplitter::Sink sink(int rank, Stream stream, std::string& text);
  std::string_view erasure(Stream stream) const;
  std::string decorated(int rank, Stream stream, std::string_view line) const;
  void write_log(int rank, std::string_view bytes);
  void show_of(int rank, Stream stream, std::string_view text);
  void show_what_was_held_long();
  void show(Stream stream, std::string_view text);
  void flush(Stream stream);
  void give_up(Stream stream, int error);
  bool has_room(int descriptor);
};

/// Whether `descriptor` is a terminal on which people want colours (NO_COLOR and TERM=dumb say no).
bool wants_colour(int descriptor);

}  // namespace lockstep
