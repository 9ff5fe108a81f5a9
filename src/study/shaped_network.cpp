#include "study/shaped_network.h"

#include "launch/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lockstep/error.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>

namespace lockstep::study {

namespace {

/// More than the largest piece that the kernel hands over at once, so that pieces go whole.
constexpr const char* kBurst = "128kb";
constexpr const char* kMostQueued = "20ms";

[[noreturn]] void cannot(const std::string& why) {
  throw Error(ErrorCode::kUnsupported, fmt::format("A shaped link cannot be made here: {}.", why));
}

std::string reason() { return std::generic_category().message(errno); }

/// Has what follows count as root's, as far as it concerns namespaces that are made from here on.
void become_root_of_a_namespace() {
  const auto user = ::geteuid();
  const auto group = ::getegid();
  if (user == 0) return;
  if (::unshare(CLONE_NEWUSER) != 0)
    cannot(fmt::format("the user is not root and may not make a user namespace ({})", reason()));
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << fmt::format("0 {} 1", user);
  std::ofstream("/proc/self/gid_map") << fmt::format("0 {} 1", group);
  if (::geteuid() != 0) cannot("the system does not map the user to root in a user namespace");
}

/// A network namespace with nothing in it. A thread makes it, since a namespace belongs to a thread.
FileDescriptor make_namespace() {
  FileDescriptor made;
  int error = 0;
  std::thread([&] {
    if (::unshare(CLONE_NEWNET) != 0) {
      error = errno;
      return;
    }
    made = FileDescriptor(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!made) error = errno;
  }).join();
  if (!made) {
    cannot(fmt::format("this user may not make a network namespace ({})", std::generic_category().message(error)));
  }
  return made;
}

std::string path_of(const FileDescriptor& descriptor) {
  return fmt::format("/proc/{}/fd/{}", ::getpid(), descriptor.get());
}

std::string address(std::size_t card) { return fmt::format("10.77.{}.{}", card / 250, card % 250 + 1); }

}  // namespace

ShapedNetwork::ShapedNetwork(int ranks, double bytes_per_second, Children& children, int ranks_a_card)
    : ranks_(ranks), ranks_a_card_(ranks_a_card) {
  for (const char* program : {"ip", "tc", "nsenter"}) {
    if (!find_in_path(program)) {
      cannot(fmt::format("there is no program {} (apt-get install iproute2 util-linux)", program));
    }
  }
  become_root_of_a_namespace();
  switch_ = make_namespace();
  const std::string shape =
      fmt::format("root tbf rate {:.0f}bit burst {} latency {}", 8 * bytes_per_second, kBurst, kMostQueued);
  std::string script = "set -e\nip link add sw0 type bridge\nip link set sw0 up\n";
  const auto cards = static_cast<std::size_t>((ranks + ranks_a_card - 1) / ranks_a_card);
  for (std::size_t number = 0; number < cards; ++number) {
    cards_.push_back(make_namespace());
    const std::string card = path_of(cards_.back());
    script += fmt::format(
        "ip link add port{0} type veth peer name eth0 netns {1}\n"
        "ip link set port{0} master sw0 up\n"
        "tc qdisc add dev port{0} {2}\n"
        "nsenter --net={1} sh -c 'set -e; ip link set lo up; ip addr add {3}/16 dev eth0; ip link set eth0 up; "
        "tc qdisc add dev eth0 {2}'\n",
        number, card, shape, address(number));
  }
  const ChildResult made = children.run({{"nsenter", "--net=" + path_of(switch_), "sh", "-c", script}});
  if (made.exit_code != 0) {
    const std::string_view said = made.errors;
    cannot(fmt::format("the system says \"{}\"", said.substr(0, said.find('\n'))));
  }
}

std::vector<std::string> ShapedNetwork::as_rank(const std::vector<std::string>& program) const {
  std::string script =
      fmt::format("export LOCKSTEP_TRANSPORT=tcp MASTER_ADDR={} LOCKSTEP_HOST\ncase $RANK in\n", address(0));
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto card = static_cast<std::size_t>(rank / ranks_a_card_);
    script += fmt::format("{}) card={} LOCKSTEP_HOST=card{} ;;\n", rank, path_of(cards_[card]), card);
  }
  script += "esac\nexec nsenter --net=$card \"$@\"\n";
  std::vector<std::string> command = {"/bin/sh", "-c", script, "sh"};
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

}  // namespace lockstep::study
