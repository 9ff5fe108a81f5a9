#include "report/tensorboard.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <climits>
#include <system_error>

namespace lockstep {

namespace {

namespace fs = std::filesystem;

// CRC-32C (Castagnoli), of RFC 3720: zlib has only the other CRC-32.
constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0x82f63b78u : 0u);
    table[i] = value;
  }
  return table;
}

// Masked, as the format wants it, so that the checksum of what holds checksums is no degenerate one.
std::uint32_t masked_crc(std::string_view bytes) {
  static constexpr auto kTable = crc_table();
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ (crc >> 8);
  return std::rotr(~crc, 15) + 0xa282ead8u;
}

// Little-endian, as both the records and protobuf's fixed fields are.
template <class Number>
std::string fixed(Number number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(Number); ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

// A field of a protobuf message begins with its number and what kind of value follows.
enum class Wire : std::uint8_t { kVarint = 0, kDouble = 1, kBytes = 2, kFloat = 5 };
std::string key(unsigned field, Wire wire) { return varint(field << 3 | static_cast<unsigned>(wire)); }
std::string bytes_field(unsigned field, std::string_view value) {
  return key(field, Wire::kBytes) + varint(value.size()) + std::string(value);
}
std::string wall_time(double seconds) { return key(1, Wire::kDouble) + fixed(std::bit_cast<std::uint64_t>(seconds)); }

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "localhost";
}

[[noreturn]] void fail(const fs::path& path, int error) {
  throw Error(ErrorCode::kIo, fmt::format("Writing TensorBoard's events to {} failed: {}.", path.string(),
                                          std::generic_category().message(error)));
}

}  // namespace

std::string tensorboard_event(double wall_seconds, std::int64_t step, const TensorboardScalars& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    summary += bytes_field(1, bytes_field(1, tag) + key(2, Wire::kFloat) + fixed(bits));
  }
  std::string event = wall_time(wall_seconds);
  if (step != 0) event += key(2, Wire::kVarint) + varint(static_cast<std::uint64_t>(step));
  return event + bytes_field(5, summary);
}

std::string tensorboard_version(double wall_seconds) {
  return wall_time(wall_seconds) + bytes_field(3, "brain.Event:2");
}

std::string tensorboard_record(std::string_view event) {
  const std::string length = fixed(static_cast<std::uint64_t>(event.size()));
  return length + fixed(masked_crc(length)) + std::string(event) + fixed(masked_crc(event));
}

TensorboardWriter::TensorboardWriter(const fs::path& folder, std::string item) : item_(std::move(item)) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(folder, error.value());
  const double now = now_seconds();
  const fs::path name = folder / fmt::format("events.out.tfevents.{}.{}", static_cast<std::int64_t>(now), host_name());
  path_ = name;
  for (int taken = 1; !file_; ++taken) {
    file_.reset(std::fopen(path_.c_str(), "wbx"));
    if (file_) break;
    if (errno != EEXIST) fail(path_, errno);
    path_ = fmt::format("{}.{}", name.string(), taken);
  }
  write(tensorboard_version(now));
}

void TensorboardWriter::write(std::string_view event) {
  const std::string record = tensorboard_record(event);
  errno = 0;
  // In one piece: a reader takes what is not whole yet for the end, and comes again.
  const bool written = std::fwrite(record.data(), 1, record.size(), file_.get()) == record.size();
  if (std::fflush(file_.get()) != 0 || !written) fail(path_, errno);
}

void TensorboardWriter::add(std::int64_t step, const TensorboardScalars& scalars) {
  write(tensorboard_event(now_seconds(), step, scalars));
}

void TensorboardWriter::add(const IterationRecord& record) {
  TensorboardScalars scalars{{"loss/training", record.loss},          {"gradient_norm", record.gradient_norm},
                             {"learning_rate", record.learning_rate}, {item_ + "_per_second", record.items_per_second},
                             {"time/compute_ms", record.compute_ms},  {"time/exposed_ms", record.exposed_ms}};
  if (record.hidden_ms > 0) scalars.emplace_back("time/hidden_ms", record.hidden_ms);
  if (record.data_wait_ms > 0) scalars.emplace_back("time/data_wait_ms", record.data_wait_ms);
  if (record.training_accuracy) scalars.emplace_back("accuracy/training", *record.training_accuracy);
  if (record.validation_loss) scalars.emplace_back("loss/validation", *record.validation_loss);
  if (record.validation_accuracy) scalars.emplace_back("accuracy/validation", *record.validation_accuracy);
  add(record.iteration, scalars);
}

}  // namespace lockstep
