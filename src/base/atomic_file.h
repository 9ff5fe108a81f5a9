#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Writes a file so that its final name never holds half of it: `write` fills a temporary beside it, which is then made
/// durable and renamed. If anything fails the temporary is removed, an older file of that name stays, and an
/// Error (kIo) says which file and why ("No space left on device"). A file that is replaced leaves its mode, and its
/// owner where this process may give files away, to the new one. Through a symbolic link, the file that it leads to,
/// or is to lead to; what is no file (a pipe, a device) is written to as it is.
void write_file_atomically(const std::filesystem::path& path,
                           const std::function<void(const std::filesystem::path& temporary)>& write);
void write_file_atomically(const std::filesystem::path& path, std::string_view content);
/// The parts, one after the other.
void write_file_atomically(const std::filesystem::path& path, const std::vector<std::string_view>& parts);

/// fsync of a file or a folder: what was written, or renamed in it, outlasts a power cut. Throws Error (kIo).
void make_durable(const std::filesystem::path& path);

/// The file, or its first `most_bytes`. Throws Error (kIo) with the path and the reason.
std::string read_file(const std::filesystem::path& path, std::size_t most_bytes = static_cast<std::size_t>(-1));

}  // namespace lockstep
