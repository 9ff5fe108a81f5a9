// liblockstep-mpi.so: starting and ending MPI, and messages. Collectives are in mpi_collectives.cpp.
#include "base/clock.h"
#include "transport/mpi/mpi_state.h"

#include <time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace lockstep::mpi {

namespace {

/// How long a rank that failed, or was ended within a group, waits at its end for the others, who may have more to say.
constexpr std::chrono::seconds kLastWait{2};
/// How long a receive that is given up is waited for, where a message is on its way into it.
constexpr std::chrono::milliseconds kLastLook{20};
/// What MPI says and what is said around it.
constexpr std::size_t kLongestFault = MPI_MAX_ERROR_STRING + 512;

/// A pointer in some MPIs, a number in others.
struct Handle {
  MPI_Request request;
};
static_assert(sizeof(Handle) <= sizeof(Request::value));

/// Tests until then; whether it completed.
bool complete_by(MPI_Request& request, Clock::time_point end, int& code) {
  int complete = 0;
  while (true) {
    code = MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
    if (complete != 0 || code != MPI_SUCCESS) return complete != 0;
    if (Clock::now() >= end) return false;
    const timespec pause{0, 50'000};
    ::nanosleep(&pause, nullptr);
  }
}

/// In a forked child what MPI keeps is its parent's.
bool is_forked() { return state().process != ::getpid(); }

/// A child may have been forked while another thread held it.
std::unique_lock<std::mutex> lock_unless_forked() {
  return is_forked() ? std::unique_lock<std::mutex>() : std::unique_lock(state().mutex);
}

/// At the end of the process: waits for the others, as MPI_Finalize does too, but that it cannot be left. Who failed,
/// or left a group without a word, leaves without MPI_Finalize if they do not come, which makes the launcher end them.
void finish() {
  if (is_forked()) return;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  if (state().communicator != MPI_COMM_NULL) {
    const Clock::time_point end = state().open > 0 ? Clock::now() + kLastWait : Clock::time_point::max();
    MPI_Request barrier = MPI_REQUEST_NULL;
    int code = MPI_Ibarrier(state().communicator, &barrier);
    if (code != MPI_SUCCESS || !complete_by(barrier, end, code)) return;
  } else if (state().open > 0) {
    return;  // not all came to the start
  }
  MPI_Finalize();
}

const char* name_of_level(int level) {
  return level == MPI_THREAD_SINGLE ? "MPI_THREAD_SINGLE" : "MPI_THREAD_FUNNELED";
}

const char* initialise() {
  state().process = ::getpid();
  int done = 0;
  MPI_Finalized(&done);
  if (done != 0)
    return "MPI has been finalised in this process, and cannot be started twice; make the World before that.";
  MPI_Initialized(&done);
  int level = MPI_THREAD_SINGLE;
  if (done == 0) {
    if (const char* const fault = said(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level))) return fault;
    std::atexit(finish);
  } else {
    if (const char* const fault = said(MPI_Query_thread(&level))) return fault;
  }
  if (level >= MPI_THREAD_SERIALIZED) return nullptr;
  return say(std::string("MPI runs with ") + name_of_level(level) +
             "; Lockstep needs MPI_THREAD_SERIALIZED: ask MPI_Init_thread for it, or leave starting MPI to Lockstep.");
}

const char* duplicate_world(long timeout_ms) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (const char* const fault = said(MPI_Comm_idup(MPI_COMM_WORLD, &state().communicator, &request))) return fault;
  int code = MPI_SUCCESS;
  if (!complete_by(request, Clock::now() + std::chrono::milliseconds(timeout_ms), code)) {
    state().communicator = MPI_COMM_NULL;
    ++state().open;  // for good: MPI_Finalize would wait for them
    return code != MPI_SUCCESS ? said(code) : "not all ranks of MPI_COMM_WORLD came to the start of Lockstep.";
  }
  return said(MPI_Comm_set_errhandler(state().communicator, MPI_ERRORS_RETURN));
}

const char* start(Started* started, long timeout_ms) {
  const std::lock_guard lock(state().mutex);
  if (const char* const fault = initialise()) return fault;
  if (state().communicator == MPI_COMM_NULL) {
    if (const char* const fault = duplicate_world(timeout_ms)) return fault;
  }
  if (const char* const fault = said(MPI_Comm_rank(state().communicator, &started->rank))) return fault;
  if (const char* const fault = said(MPI_Comm_size(state().communicator, &started->size))) return fault;
  int* most_tag = nullptr;
  int known = 0;
  const int code = MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&most_tag), &known);
  if (const char* const fault = said(code)) return fault;
  started->most_tag = known != 0 ? *most_tag : 32767;  // what the standard promises
  return nullptr;
}

const char* send(Request* request, const Outgoing* message) {
  const std::lock_guard lock(state().mutex);
  MPI_Request handle = MPI_REQUEST_NULL;
  const auto post = message->synchronous != 0 ? MPI_Issend : MPI_Isend;
  const char* const fault = said(post(message->data, static_cast<int>(message->bytes), MPI_BYTE, message->to,
                                      message->tag, state().communicator, &handle));
  store(*request, handle);
  return fault;
}

const char* receive(Request* request, void* data, std::size_t bytes, int from, int tag) {
  const std::lock_guard lock(state().mutex);
  MPI_Request handle = MPI_REQUEST_NULL;
  const int source = from < 0 ? MPI_ANY_SOURCE : from;
  const char* const fault =
      said(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, source, tag, state().communicator, &handle));
  store(*request, handle);
  return fault;
}

const char* test(Request* request, int* complete, std::size_t* bytes, int* from) {
  const std::lock_guard lock(state().mutex);
  MPI_Request handle = load(*request);
  MPI_Status status{};
  const int code = MPI_Test(&handle, complete, &status);
  store(*request, handle);
  if (code != MPI_SUCCESS || *complete == 0) return said(code);
  int count = 0;
  if (const char* const fault = said(MPI_Get_count(&status, MPI_BYTE, &count))) return fault;
  *bytes = static_cast<std::size_t>(count);
  *from = status.MPI_SOURCE;
  return nullptr;
}

/// Tests until then, at least once, and leaves to MPI what is not complete; whether it was.
int complete_or_leave(MPI_Request& handle, Clock::time_point end) {
  int code = MPI_SUCCESS;
  if (complete_by(handle, end, code)) return 1;
  if (handle != MPI_REQUEST_NULL) MPI_Request_free(&handle);
  return 0;
}

/// What is to be given up of it: nothing in a forked child, after MPI's end, or once it was complete.
MPI_Request take(Request* request) {
  int finalized = 0;
  if (is_forked() || MPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0) return MPI_REQUEST_NULL;
  const MPI_Request handle = load(*request);
  store(*request, MPI_REQUEST_NULL);
  return handle;
}

/// A receive that has met its message is not cancelled any more, and needs its sender, who may have been stopped:
/// MPI_Wait, which MPI says waits for nobody after MPI_Cancel, then does not return (Open MPI 4.1.4).
int cancel_receive(Request* request) {
  const auto lock = lock_unless_forked();
  MPI_Request handle = take(request);
  if (handle == MPI_REQUEST_NULL) return 1;
  const Clock::time_point now = Clock::now();
  return complete_or_leave(handle, MPI_Cancel(&handle) == MPI_SUCCESS ? now + kLastLook : now);
}

int forget_send(Request* request) {
  const auto lock = lock_unless_forked();
  MPI_Request handle = take(request);
  return handle == MPI_REQUEST_NULL ? 1 : complete_or_leave(handle, Clock::now());
}

void count_open(int change) {
  const std::lock_guard lock(state().mutex);
  state().open += change;
}

constexpr Calls kCalls{start, send, receive, test, cancel_receive, forget_send, make_communicator, begin, count_open};

}  // namespace

State& state() {
  static auto* const kState = new State;  // used at the process's very end
  return *kState;
}

const char* say(const std::string& fault) {
  // Without a destructor, since Worlds that go at the process's very end still ask MPI.
  thread_local std::array<char, kLongestFault + 1> text;
  text[fault.copy(text.data(), kLongestFault)] = '\0';
  return text.data();
}

const char* said(int code) {
  if (code == MPI_SUCCESS) return nullptr;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return say("MPI says: " + std::string(text, static_cast<std::size_t>(length)));
}

MPI_Request load(const Request& request) {
  Handle handle{};
  std::memcpy(&handle, &request.value, sizeof handle);
  return handle.request;
}

void store(Request& request, MPI_Request value) {
  const Handle handle{value};
  std::memcpy(&request.value, &handle, sizeof handle);
}

}  // namespace lockstep::mpi

extern "C" __attribute__((visibility("default"))) const lockstep::mpi::Calls* lockstep_mpi_calls_3() {
  return &lockstep::mpi::kCalls;
}
