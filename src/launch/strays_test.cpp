// What becomes of them when a job ends, tests/processes looks at.
#include "launch/strays.h"

#include "base/environment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

namespace lockstep {

namespace {

/// A sleeping process with this in its environment, in a group of its own or even a session.
class Sleeper {
 public:
  explicit Sleeper(const std::string& variable, bool in_own_session = false) {
    std::string written = variable;
    std::string program = "sleep";
    std::string seconds = "1000";
    std::array<char*, 3> arguments{program.data(), seconds.data(), nullptr};
    std::array<char*, 2> environment{written.data(), nullptr};
    std::array<int, 2> started{};
    if (::pipe2(started.data(), O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      in_own_session ? ::setsid() : ::setpgid(0, 0);
      ::execvpe("sleep", arguments.data(), environment.data());
      ::_exit(1);
    }
    ::close(started[1]);
    char none = 0;
    EXPECT_EQ(::read(started[0], &none, 1), 0) << "the program runs now";
    ::close(started[0]);
  }
  ~Sleeper() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  pid_t group() const { return pid_; }
  /// The signal that ended it.
  int ended_by() {
    int status = 0;
    if (::waitpid(std::exchange(pid_, -1), &status, 0) < 0) return -1;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  bool runs() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  pid_t pid_ = -1;
};

std::string mark_of(const std::string& job) { return std::string(kJobVariable) + "=" + job; }

}  // namespace

TEST(Strays, AreWhatBearsTheJobsMark) {
  Sleeper one(mark_of("one"));
  Sleeper longer(mark_of("one1"));
  Sleeper other("X" + mark_of("one"));
  Strays("one").kill();
  EXPECT_EQ(one.ended_by(), SIGKILL);
  EXPECT_TRUE(longer.runs());
  EXPECT_TRUE(other.runs());
}

TEST(Strays, AreNotInASessionOfTheirOwn) {
  const Sleeper apart(mark_of("two"), true);
  Strays("two").kill();
  EXPECT_TRUE(apart.runs());
}

TEST(Strays, HaveLeftTheGroupsThatWereSignalled) {
  const Sleeper rank(mark_of("three"));
  Sleeper stray(mark_of("three"));
  const std::array<pid_t, 1> groups{rank.group()};
  Strays("three").signal(SIGTERM, groups);
  EXPECT_EQ(stray.ended_by(), SIGTERM);
  EXPECT_TRUE(rank.runs());
}

}  // namespace lockstep
