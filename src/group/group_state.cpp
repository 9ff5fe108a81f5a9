#include "group/group_state.h"

#include "base/clock.h"
#include "base/environment.h"
#include "base/sentence.h"
#include "group/canonical.h"
#include "kernels/copy.h"
#include "transport/verdict.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <new>
#include <utility>

namespace lockstep::detail {

namespace {

/// What a rank sends to itself goes through no schedule.
void copy_own_block(const OwnBlock& block, const void* input, void* output) {
  if (block.bytes == 0) return;
  kernels::copy(static_cast<std::byte*>(output) + block.output_offset,
                static_cast<const std::byte*>(input) + block.input_offset, block.bytes, false);
}

/// As long as a link of 4 Gbit/s takes for so many bytes: what comes meanwhile stands in the kernel's buffers, of some
/// MiB, and a peer that waits for them waits for not much longer.
std::chrono::microseconds rest_during(std::uint64_t bytes) {
  constexpr std::uint64_t kBytesInAMicrosecond = 500;
  constexpr std::uint64_t kMost = 8000;
  return std::chrono::microseconds(std::min(kMost, bytes / kBytesInAMicrosecond));
}

/// What this rank sends in a step of a piece: a peer waits for the next step's.
std::uint64_t bytes_a_step(const PreparedOperation& operation) {
  return operation.wire_bytes / static_cast<std::uint64_t>(std::max(1, operation.steps) * operation.running->pieces());
}

using Time = std::chrono::steady_clock::time_point;

/// A rank that waits for an operation while messages are under way, or the other way round, sleeps for so long at most:
/// it is woken for one of the two only, and a peer may need the other to come further.
Time soon() { return std::chrono::steady_clock::now() + std::chrono::microseconds(200); }

constexpr const char* kThrewMeanwhile = "it threw while an operation was under way";
constexpr const char* kAbandonedOne = "it abandoned an operation that was under way";

}  // namespace

GroupState::GroupState(Identity identity, std::unique_ptr<Engine> engine, JobCalibration calibration)
    : identity_(std::move(identity)),
      engine_(std::move(engine)),
      calibration_(std::move(calibration)),
      schedules_(identity_, engine_->medium(), calibration_),
      operations_(*engine_, schedules_),
      messages_(engine_->messages(), identity_.rank, identity_.size),
      first_error_(identity_, *engine_),
      default_timeout_(environment_duration(kTimeoutVariable, std::chrono::minutes(10))),
      default_reduction_(reduction_from_environment()),
      exceptions_(std::uncaught_exceptions()) {}

GroupState::~GroupState() {
  thread_.reset();
  if (std::uncaught_exceptions() > exceptions_) abandon("an exception ended it");
}

void GroupState::require_own_process() const {
  if (process_.is_this()) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("Rank {}: this process was forked from the rank's, and its groups are its parent's alone; "
                          "call them there, and let the child join a world of its own if it needs one.",
                          identity_.rank),
              {.rank = identity_.rank});
}

std::unique_lock<std::mutex> GroupState::alone() {
  require_own_process();
  return thread_ ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
}

Pending GroupState::start(const Task& task, const OperationOptions& options) {
  const auto lock = alone();
  first_error_.throw_if_there();
  try {
    take_up(task, options);
  } catch (const std::bad_alloc&) {
    throw_out_of_memory(to_string(task.collective));
  }
  if (identity_.size == 1) return {};
  move_all();
  if (is_complete(sequence_)) return {};
  options.in_background ? move_in_background() : tell_thread();
  return {shared_from_this(), sequence_};
}

void GroupState::take_up(const Task& task, const OperationOptions& options) {
  validate(task, identity_, *engine_);
  if (!make_sense(options)) refuse_options(options, to_string(task.collective), identity_.rank);
  PreparedOperation& operation = operations_.find(task, options.algorithm, reduction_of(options));
  operations_.trim();
  if (identity_.size == 1) {
    if (options.record) *options.record = {.algorithm = operation.algorithm, .begun_us = now_us()};
    ++totals_.operations;
    copy_own_block(own_block(task, 0, 1), task.input_data(), task.buffer.data);
    if (options.record) options.record->completed_us = now_us();
    return;
  }
  push(task, operation, options);
  ++totals_.operations;
  totals_.steps += static_cast<std::uint64_t>(operation.steps);
  totals_.wire_bytes += operation.wire_bytes;
}

void GroupState::throw_out_of_memory(std::string_view operation) const {
  try {
    throw Error(ErrorCode::kOutOfMemory,
                fmt::format("Rank {}: {}: there is no memory to prepare it; nothing was sent, and the group is as "
                            "before.",
                            identity_.rank, operation),
                {.rank = identity_.rank, .operation = std::string(operation)});
  } catch (const std::bad_alloc&) {
    throw first_error_.out_of_memory();
  }
}

void GroupState::push(const Task& task, PreparedOperation& operation, const OperationOptions& options) {
  QueuedOperation& entry = queue_.next();
  entry.operation = &operation;
  entry.call.input = task.input_data();
  entry.call.output = task.buffer.data;
  entry.call.purpose = options.purpose;
  entry.call.timeout = timeout_of(options);
  entry.own_block = own_block(task, identity_.rank, identity_.size);
  entry.sequence = sequence_ + 1;
  entry.begun = false;
  entry.record = options.record;
  queue_.push();
  operations_.take(operation);
  ++sequence_;
}

void GroupState::begin_front() {
  QueuedOperation& front = queue_.front();
  copy_own_block(front.own_block, front.call.input, front.call.output);
  front.operation->running->begin(front.call, front.sequence, past_);
  past_ = front.operation->running->past_behind();
  front.begun = true;
  if (!front.record) return;
  *front.record = {.algorithm = front.operation->algorithm,
                   .steps = front.operation->steps,
                   .wire_bytes = front.operation->wire_bytes,
                   .begun_us = now_us()};
}

void GroupState::complete_front() {
  QueuedOperation& front = queue_.front();
  if (front.record) front.record->completed_us = now_us();
  front.record.reset();
  completed_ = front.sequence;
  operations_.give_back(*front.operation);
  queue_.pop();
}

Pending GroupState::start(PointToPoint::Direction direction, int peer, const Buffer& buffer,
                          const OperationOptions& options) {
  const auto lock = alone();
  first_error_.throw_if_there();
  const PointToPoint::Message message{.direction = direction,
                                      .peer = peer,
                                      .buffer = buffer,
                                      .purpose = options.purpose,
                                      .timeout = timeout_of(options)};
  PointToPoint::Ticket ticket = 0;
  try {
    validate(message, identity_, *engine_);
    if (!make_sense(options)) refuse_options(options, to_string(direction), identity_.rank);
    ticket = messages_.start(message);
  } catch (const std::bad_alloc&) {
    throw_out_of_memory(to_string(direction));
  }
  move_all();
  const bool is_done = messages_.is_complete(ticket);
  options.in_background && !is_done ? move_in_background() : tell_thread();
  if (is_done) return {};
  return {std::shared_ptr<Awaited>(shared_from_this(), &awaited_messages_), ticket};
}

Reduction GroupState::reduction_of(const OperationOptions& options) const {
  return options.reduction == Reduction::kFromEnvironment ? default_reduction_ : options.reduction;
}

std::chrono::milliseconds GroupState::timeout_of(const OperationOptions& options) const {
  constexpr std::chrono::hours kLongest{24 * 365};  // which a clock can add to now
  return std::min<std::chrono::milliseconds>(options.timeout.count() > 0 ? options.timeout : default_timeout_,
                                             kLongest);
}

std::string GroupState::algorithm_for(const Task& task, const OperationOptions& options, MemoryKind memory) {
  const auto lock = alone();
  if (!has_names(task)) refuse_names(task, identity_.rank);
  if (!make_sense(options)) refuse_options(options, to_string(task.collective), identity_.rank);
  return operations_.algorithm_for(task, options.algorithm, reduction_of(options), memory);
}

void GroupState::record_transfers(TransferRecorder recorder) {
  const auto lock = alone();
  operations_.record_transfers(std::move(recorder));
}

bool GroupState::progress() {
  const auto lock = alone();
  if (move_all()) return true;
  tell_thread();
  look_for_trouble();
  return false;
}

void GroupState::look_for_trouble() {
  constexpr std::chrono::milliseconds kBetweenLooks(20);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + kBetweenLooks;
  if (!queue_.empty()) in_operation([&] { queue_.front().operation->running->wait_for_peer_until(now); });
  if (!messages_.idle()) in_message([&] { messages_.look_for_trouble(); });
}

void GroupState::move_in_background() {
  if (!thread_ && !does_without_thread_) make_thread();
  if (thread_) thread_->wake();
}

/// A thread is of use where it can sleep until there is something to do, which takes sockets. Without one the operation
/// only comes later: it is under way, and whoever asks about it or waits moves it.
void GroupState::make_thread() {
  add_awaited_sockets(watched_);
  if (watched_.empty()) return;
  try {
    const auto ranks = static_cast<std::size_t>(identity_.size);
    const std::size_t most_awaited = 3 * ranks;  // for the front operation, and to send and to receive messages
    for (auto* const sockets : {&watched_, &awaited_}) sockets->reserve(most_awaited);
    thread_ =
        std::make_unique<ProgressThread>([this](std::vector<pollfd>& awaited) { return background_step(awaited); },
                                         /*most_sockets=*/most_awaited + ranks);
  } catch (const Error&) {
    does_without_thread_ = true;
  } catch (const std::bad_alloc&) {
    does_without_thread_ = true;
  }
}

void GroupState::add_awaited_sockets(std::vector<pollfd>& sockets) {
  if (!queue_.empty()) in_operation([&] { queue_.front().operation->running->add_awaited_sockets(sockets); });
  if (!messages_.idle()) in_message([&] { messages_.add_awaited_sockets(sockets); });
}

void GroupState::tell_thread() {
  if (!thread_ || is_idle() || first_error_.is_there()) return;
  awaited_.clear();
  add_awaited_sockets(awaited_);
  const auto is_same = [](const pollfd& a, const pollfd& b) { return a.fd == b.fd && a.events == b.events; };
  if (std::equal(awaited_.begin(), awaited_.end(), watched_.begin(), watched_.end(), is_same)) return;
  std::swap(watched_, awaited_);
  thread_->wake();
}

std::chrono::microseconds GroupState::background_step(std::vector<pollfd>& sockets) noexcept {
  const std::unique_lock lock(mutex_);
  watched_.clear();
  if (first_error_.is_there()) return {};
  try {
    if (move_all()) return {};
    add_awaited_sockets(watched_);
    sockets.insert(sockets.end(), watched_.begin(), watched_.end());
    std::uint64_t bytes = messages_.least_bytes_left();
    if (!queue_.empty()) {
      const PreparedOperation& front = *queue_.front().operation;
      in_operation([&] { front.running->answer_peers(sockets); });
      bytes = std::min(bytes, bytes_a_step(front));
    }
    return rest_during(bytes);
  } catch (...) {
    return {};  // the peers have been told, and whoever comes into the group next is
  }
}

bool GroupState::move_all() {
  first_error_.throw_if_there();
  const bool operations_are_done = advance_operations();
  return advance_messages() && operations_are_done;
}

bool GroupState::advance_operations() {
  return in_operation([&] {
    while (!queue_.empty()) {
      if (!queue_.front().begun) begin_front();
      if (!queue_.front().operation->running->advance()) return false;
      complete_front();
    }
    return true;
  });
}

bool GroupState::advance_messages() {
  if (messages_.idle()) return true;
  in_message([&] { messages_.advance(); });
  return messages_.idle();
}

bool GroupState::advance_to(std::uint64_t sequence) {
  return advance_until([&] { return is_complete(sequence); });
}

void GroupState::wait_until(std::uint64_t sequence) {
  const auto wait_once = [&] {
    queue_.front().operation->running->wait_for_peer_until(messages_.idle() ? Time::max() : soon());
  };
  wait_until_complete([&] { return is_complete(sequence); }, [&] { in_operation(wait_once); });
}

void GroupState::abandon_at(std::uint64_t sequence) {
  abandon_unless([&] { return is_complete(sequence); });
}

bool GroupState::AwaitedMessages::advance_to(PointToPoint::Ticket ticket) {
  return state_.advance_until([&] { return state_.messages_.is_complete(ticket); });
}

void GroupState::AwaitedMessages::wait_until(PointToPoint::Ticket ticket) {
  const auto wait_once = [&] { state_.messages_.wait_for(ticket, state_.queue_.empty() ? Time::max() : soon()); };
  state_.wait_until_complete([&] { return state_.messages_.is_complete(ticket); },
                             [&] { state_.in_message(wait_once); });
}

void GroupState::AwaitedMessages::abandon_at(PointToPoint::Ticket ticket) {
  state_.abandon_unless([&] { return state_.messages_.is_complete(ticket); });
}

template <class IsComplete>
bool GroupState::advance_until(const IsComplete& is_complete) {
  const auto lock = alone();
  if (!is_complete()) move_all();
  tell_thread();
  if (is_complete()) return true;
  look_for_trouble();
  return false;
}

template <class IsComplete, class WaitOnce>
void GroupState::wait_until_complete(const IsComplete& is_complete, const WaitOnce& wait_once) {
  const auto lock = alone();
  while (!is_complete()) {
    move_all();
    if (!is_complete()) wait_once();
  }
  tell_thread();
}

template <class IsComplete>
void GroupState::abandon_unless(const IsComplete& is_complete) {
  const auto lock = alone();
  if (is_complete()) return;
  first_error_.leave(std::uncaught_exceptions() > exceptions_ ? kThrewMeanwhile : kAbandonedOne);
}

template <class Work>
std::invoke_result_t<Work> GroupState::in_operation(const Work& work) {
  return in_scene(
      work, [this] { return scene_of(*queue_.front().operation->running, identity_.rank, name_of_group(identity_)); });
}

template <class Work>
std::invoke_result_t<Work> GroupState::in_message(const Work& work) {
  return in_scene(work, [this] { return messages_.scene(name_of_group(identity_)); });
}

template <class Work, class SceneOf>
std::invoke_result_t<Work> GroupState::in_scene(const Work& work, const SceneOf& scene_of_it) {
  try {
    return work();
  } catch (const std::exception& thrown) {
    first_error_.fail(
        thrown, [](const Error& error) { return error; },
        [&](const Error& error) { return explain(scene_of_it(), error); });
  } catch (...) {
    first_error_.leave("it threw something that is no std::exception");
    throw;
  }
}

void GroupState::look_around() {
  const auto lock = alone();
  engine_->look_around();
}

void GroupState::throw_if_failed() {
  const auto lock = alone();
  first_error_.throw_if_there();
}

void GroupState::fail_to_split(const std::exception& thrown) {
  const auto lock = alone();
  first_error_.fail(
      thrown,
      [&](const Error& error) {
        const Error told = as_told_by(identity_.rank, error);
        return Error(told.code(), without_full_stop(told.what()), told.context());
      },
      [&](const Error& error) {
        const std::string what = with_full_stop(error.what());
        return Error(error.code(), fmt::format("Rank {}{}: split: {}", identity_.rank, of_which_group(identity_), what),
                     {.rank = identity_.rank, .peer = error.peer()});
      });
}

void GroupState::abandon(const char* why) noexcept {
  if (!process_.is_this()) return;  // the parent goes on
  const auto lock = alone();
  first_error_.leave(why);
}

std::string GroupState::load_schedule(const std::string& text) {
  const auto lock = alone();
  return schedules_.load(text);
}

RegisteredMemory GroupState::allocate(std::size_t bytes) {
  require_own_process();  // or the parent gives out the same memory
  return engine_->allocate(bytes);
}

}  // namespace lockstep::detail
