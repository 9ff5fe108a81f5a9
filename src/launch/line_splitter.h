#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace lockstep {

/// Cuts a stream of bytes into lines. What ends with a carriage return and no line feed is an update, as progress bars
/// print it: something that the next text replaces. Memory is bounded: a line longer than kLongest comes in pieces.
class LineSplitter {
 public:
  static constexpr std::size_t kLongest = std::size_t{64} * 1024;
  enum class Kind { kLine, kUpdate };
  /// `text` holds no line feed at its end and is valid during the call only.
  using Sink = std::function<void(Kind kind, std::string_view text)>;

  void feed(std::string_view bytes, const Sink& sink);
  /// The end of the stream: what has no line feed yet is a line too.
  void finish(const Sink& sink);

 private:
  std::string line_;
  bool after_return_ = false;  ///< line_ ended with a carriage return; what comes next says whether it was an update
};

}  // namespace lockstep
