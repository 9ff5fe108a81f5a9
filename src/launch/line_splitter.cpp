#include "launch/line_splitter.h"

#include <algorithm>

namespace lockstep {

void LineSplitter::feed(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    if (after_return_ && bytes.front() != '\n' && bytes.front() != '\r') {
      if (!line_.empty()) sink(Kind::kUpdate, line_);
      line_.clear();
      after_return_ = false;
    }
    const std::size_t room = kLongest - line_.size();
    const std::size_t length = std::min({bytes.find_first_of("\n\r"), bytes.size(), room});
    line_.append(bytes.substr(0, length));
    bytes.remove_prefix(length);
    if (bytes.empty()) return;
    if (bytes.front() == '\r') {
      after_return_ = true;
      bytes.remove_prefix(1);
      continue;
    }
    if (bytes.front() == '\n') bytes.remove_prefix(1);  // else the line is as long as lines may be
    sink(Kind::kLine, line_);
    line_.clear();
    after_return_ = false;
  }
}

void LineSplitter::finish(const Sink& sink) {
  if (!line_.empty()) sink(Kind::kLine, line_);
  line_.clear();
  after_return_ = false;
}

}  // namespace lockstep
