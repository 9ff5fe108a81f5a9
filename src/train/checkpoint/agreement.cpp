#include "train/checkpoint/agreement.h"

#include <fmt/format.h>

#include <optional>

namespace lockstep {

std::string broadcast_text(const Group& group, std::string text, int root) {
  const OperationOptions options{.purpose = "text of a checkpoint"};
  auto size = static_cast<std::int64_t>(text.size());
  group.broadcast(buffer_of(&size, 1), root, options).wait();
  text.resize(static_cast<std::size_t>(size));
  if (size > 0) group.broadcast({text.data(), text.size(), DataType::kUInt8}, root, options).wait();
  return text;
}

void agree(const Group& group, const std::function<void()>& work) {
  std::optional<Error> error;
  try {
    work();
  } catch (const Error& caught) {
    error = caught;
  } catch (const std::exception& caught) {
    error = Error(ErrorCode::kIo, caught.what());
  }
  std::int64_t failed = error ? group.rank() : group.size();
  group.all_reduce(buffer_of(&failed, 1), ReduceOp::kMin, {.purpose = "did any rank fail with a checkpoint"}).wait();
  if (failed == group.size()) return;
  const int root = static_cast<int>(failed);
  const bool mine = group.rank() == root;
  auto code = static_cast<std::int64_t>(mine ? error->code() : ErrorCode::kIo);
  group.broadcast(buffer_of(&code, 1), root, {.purpose = "why a rank failed with a checkpoint"}).wait();
  const std::string text = broadcast_text(group, mine ? error->what() : "", root);
  throw Error(static_cast<ErrorCode>(code), group.size() == 1 ? text : fmt::format("Rank {}: {}", root, text),
              {.rank = group.rank(), .peer = root, .operation = "checkpoint"});
}

}  // namespace lockstep
