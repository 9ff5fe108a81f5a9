#include "launch/output.h"

#include "base/units.h"
#include "launch/failure.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lockstep/error.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace lockstep {

namespace {

constexpr std::size_t kLongestLastLine = 400;
constexpr std::size_t kMostUnshown = std::size_t{16} << 20;
constexpr std::chrono::seconds kUpdateInterval{1};
// No red: that is for failures.
constexpr std::array<int, 10> kColours{36, 33, 32, 35, 34, 96, 93, 92, 95, 94};

std::size_t index(Stream stream) { return static_cast<std::size_t>(stream); }

std::string message(int error) { return std::generic_category().message(error); }

/// False if it could not be written whole; errno says why.
bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd room{descriptor, POLLOUT, 0};
      ::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

/// Whether it is a pipe or a socket whose other end is closed.
bool has_lost_its_end(int descriptor) {
  pollfd other_end{descriptor, 0, 0};
  return ::poll(&other_end, 1, 0) > 0 && (other_end.revents & (POLLERR | POLLHUP)) != 0;
}

FileDescriptor make_log(const std::filesystem::path& folder, int rank) {
  const std::filesystem::path path = folder / fmt::format("rank{}.log", rank);
  const auto refuse_it = [&](const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("Cannot write the log file {}: {}.", path.string(), why));
  };
  // A pipe without a reader would keep us waiting here, and with a slow one later.
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644));
  const int error = errno;
  struct stat status {};
  const bool is_open = file && ::fstat(file.get(), &status) == 0;
  const bool takes_all = is_open && (S_ISREG(status.st_mode) || S_ISCHR(status.st_mode));
  if (is_open ? !takes_all : error == ENXIO) refuse_it("it is there and not a file; remove it");
  if (!is_open) refuse_it(message(error));
  return file;
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("Cannot make the log folder {}: {}.", folder.string(), error.message()));
  }
}

}  // namespace

Output::Output(const Options& options) : options_(options), ranks_(static_cast<std::size_t>(options.ranks)) {
  if (!options_.log_dir) return;
  make_folder(*options_.log_dir);
  for (int rank = 0; rank < options_.ranks; ++rank) {
    ranks_[static_cast<std::size_t>(rank)].log = make_log(*options_.log_dir, rank);
  }
}

void Output::add(int rank, Stream stream, std::string_view bytes) {
  write_log(rank, bytes);
  std::string text;
  ranks_[static_cast<std::size_t>(rank)].splitters[index(stream)].feed(bytes, sink(rank, stream, text));
  show_of(rank, stream, text);
}

void Output::finish(int rank, Stream stream) {
  std::string text;
  ranks_[static_cast<std::size_t>(rank)].splitters[index(stream)].finish(sink(rank, stream, text));
  show_of(rank, stream, text);
}

/// Once nobody reads what the bare rank writes by itself, it is about to end of that, and the others to speak of it.
void Output::show_of(int rank, Stream stream, std::string_view text) {
  const bool may_speak_of_it = options_.bare_rank >= 0 && rank != options_.bare_rank && stream == Stream::kErrors;
  if (!may_speak_of_it || !is_unread()) return show(stream, text);
  if (held_back_.empty()) held_since_ = Clock::now();
  held_back_ += text;
  show_what_was_held_long();
}

bool Output::is_unread() const { return has_lost_its_end(options_.descriptors[index(Stream::kOutput)]); }

/// Longer than a job that fails is given to end.
void Output::show_what_was_held_long() {
  constexpr std::chrono::seconds kLong{5};
  if (!held_back_.empty() && Clock::now() - held_since_ > kLong) show_held_back();
}

void Output::show_held_back() { show(Stream::kErrors, std::exchange(held_back_, {})); }

void Output::say(std::string_view line) {
  show(Stream::kErrors, fmt::format("{}lockstep: {}\n", erasure(Stream::kErrors), line));
}

void Output::tell(std::string_view text) { show(Stream::kErrors, text); }

void Output::clear_bar() { show(Stream::kOutput, erasure(Stream::kOutput)); }

void Output::add_awaited(std::vector<pollfd>& polled) const {
  for (const Stream stream : {Stream::kOutput, Stream::kErrors}) {
    if (!unshown_[index(stream)].empty()) polled.push_back({options_.descriptors[index(stream)], POLLOUT, 0});
  }
}

void Output::go_on() {
  show_what_was_held_long();
  flush(Stream::kOutput);
  flush(Stream::kErrors);
}

void Output::drain() {
  hurried_ = false;
  go_on();
}

void Output::say_what_was_dropped() {
  if (dropped_ == 0) return;
  say(fmt::format("{} of output was dropped: nobody read what was shown before it, while the job was being ended.",
                  format_bytes(dropped_)));
}

void Output::show(Stream stream, std::string_view text) {
  if (stream == Stream::kOutput && lost_) return;
  std::string& unshown = unshown_[index(stream)];
  if (unshown.size() + text.size() <= kMostUnshown) {
    unshown += text;
  } else {
    dropped_ += text.size();  // only logs keep it
  }
  flush(stream);
}

void Output::flush(Stream stream) {
  const int descriptor = options_.descriptors[index(stream)];
  std::string& unshown = unshown_[index(stream)];
  std::size_t shown = 0;
  while (shown < unshown.size() && has_room(descriptor)) {
    // So much a pipe with room takes at once.
    const ssize_t written =
        ::write(descriptor, unshown.data() + shown, std::min<std::size_t>(unshown.size() - shown, PIPE_BUF));
    if (written >= 0) {
      shown += static_cast<std::size_t>(written);
    } else if (errno != EAGAIN && errno != EINTR) {
      give_up(stream, errno);
      shown = unshown.size();  // nobody will ever read it
    }
  }
  unshown.erase(0, shown);
}

void Output::give_up(Stream stream, int error) {
  if (error == EPIPE) has_no_reader_ = true;
  if (error == EPIPE || stream == Stream::kErrors || lost_) return;  // where errors are lost nobody can be told
  lost_ = true;
  say(fmt::format("output is shown no further: {}.", message(error)));
}

/// Waits for it; false if there is none, and something else to do.
bool Output::has_room(int descriptor) {
  constexpr int kPatienceMs = 1000;
  while (true) {
    std::array<pollfd, 2> polled{{{descriptor, POLLOUT, 0}, {hurried_ ? -1 : options_.interrupts, POLLIN, 0}}};
    const int timeout = !hurried_ ? -1 : stuck_ ? 0 : kPatienceMs;
    const int ready = ::poll(polled.data(), polled.size(), timeout);
    if (ready < 0 && errno == EINTR) continue;
    if (polled[0].revents != 0) return true;
    stuck_ = hurried_;
    return false;
  }
}

std::vector<std::string> Output::last_lines(int rank) const {
  const auto& lines = ranks_[static_cast<std::size_t>(rank)].last_lines;
  return {lines.begin(), lines.end()};
}

/// Lines of the rank's stream, made ready to be shown, are added to `text`.
LineSplitter::Sink Output::sink(int rank, Stream stream, std::string& text) {
  return [this, rank, stream, &text](LineSplitter::Kind kind, std::string_view line) {
    Rank& from = ranks_[static_cast<std::size_t>(rank)];
    if (kind == LineSplitter::Kind::kUpdate) {
      const auto now = Clock::now();
      if (now - from.last_update[index(stream)] < kUpdateInterval) return;
      from.last_update[index(stream)] = now;
    } else if (says_something(line)) {
      from.last_lines.emplace_back(line.substr(0, kLongestLastLine));
      if (from.last_lines.size() > kLastLines) from.last_lines.pop_front();
    }
    text += decorated(rank, stream, line);
  };
}

std::string_view Output::erasure(Stream stream) const { return options_.beside_a_bar[index(stream)] ? "\r\x1b[K" : ""; }

std::string Output::decorated(int rank, Stream stream, std::string_view line) const {
  const std::string_view erase = erasure(stream);
  if (rank == options_.bare_rank) return fmt::format("{}{}\n", erase, line);
  if (!options_.colour[index(stream)]) return fmt::format("{}[rank {}] {}\n", erase, rank, line);
  const int colour = kColours[static_cast<std::size_t>(rank) % kColours.size()];
  // A line that sets a colour and does not end it must not paint the next rank's.
  const char* end = line.find('\x1b') != std::string_view::npos ? "\x1b[0m" : "";
  return fmt::format("{}\x1b[{}m[rank {}]\x1b[0m {}{}\n", erase, colour, rank, line, end);
}

void Output::write_log(int rank, std::string_view bytes) {
  FileDescriptor& log = ranks_[static_cast<std::size_t>(rank)].log;
  if (!log || write_all(log.get(), bytes)) return;
  const int error = errno;
  log.reset();  // the job is worth more than its log
  say(fmt::format("rank {}'s log file is written no further: {}.", rank, message(error)));
}

bool wants_colour(int descriptor) {
  if (::isatty(descriptor) == 0) return false;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (no_colour == nullptr || *no_colour == '\0') && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace lockstep
