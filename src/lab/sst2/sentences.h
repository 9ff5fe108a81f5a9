#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::lab {

/// A sentence of a film review; is it positive?
struct Sentence {
  std::string text;  ///< UTF-8, as it stands in the file
  int label = 0;     ///< 0 negative, 1 positive
};

/// A file of GLUE's SST-2 (Socher et al. 2013; Wang et al. 2019): a header `sentence<TAB>label`, then a sentence a
/// line; a byte-order mark before it is skipped. Throws Error (kInvalidArgument) with file, line and what is wrong: a
/// header of another task, a missing or further column, a label that is neither 0 nor 1, bytes that are not UTF-8,
/// CRLF, an empty line; and for a file that cannot be read or has no sentences.
std::vector<Sentence> read_sst2(const std::filesystem::path& file);

}  // namespace lockstep::lab
