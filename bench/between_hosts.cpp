// between_hosts HOSTS RANKS RATE WORD...: `lockstep bench WORD...` on so many hosts of so many ranks each, on this one.
// A host is a network namespace whose card is shaped to RATE, as 1Gbit/s, both ways; a switch joins them. All hosts
// share this machine's cores, so that small messages tell of these, and large buffers of the cards. For root, and for
// who may make user namespaces.
#include "base/units.h"
#include "bench/usage.h"
#include "launch/launcher.h"
#include "launch/program.h"
#include "study/shaped_network.h"

#include <lockstep/error.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace lockstep;

constexpr int kMostHosts = 64;
constexpr int kMostRanksAHost = 64;

study::ShapedNetwork network_of(int hosts, int ranks, double bytes_per_second) {
  study::Children children;
  return {hosts * ranks, bytes_per_second, children, ranks};
}

int measure(const study::ShapedNetwork& network, const std::vector<std::string>& words) {
  std::vector<std::string> program{std::filesystem::path(this_program()).parent_path() / "lockstep", "bench"};
  program.insert(program.end(), words.begin(), words.end());
  LaunchOptions options;
  options.ranks = network.ranks();
  options.command = network.as_rank(program);
  options.pass_through_rank = 0;
  options.quiet_exit_code = 1;  // wrong results, and errors that their rank has printed
  return launch(options);
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("`lockstep bench` between hosts, each a network namespace with a shaped card");
  int hosts = 0;
  int ranks = 0;
  std::string rate;
  app.add_option("hosts", hosts, "How many")->required()->check(CLI::Range(1, kMostHosts));
  app.add_option("ranks", ranks, "On each host")->required()->check(CLI::Range(1, kMostRanksAHost));
  app.add_option("rate", rate, "Of a host's card, each way, as 1Gbit/s")->required();
  app.prefix_command();  // what follows is bench's
  if (const auto end = read_arguments(app, "between_hosts", argc, argv)) return *end;
  return measure(network_of(hosts, ranks, parse_bandwidth(rate)), app.remaining());
} catch (const lockstep::study::Interrupted& interrupted) {
  return 128 + interrupted.signal();
} catch (const lockstep::Error& error) {
  std::fprintf(stderr, "between_hosts: %s\n", error.what());
  return error.code() == lockstep::ErrorCode::kInvalidArgument ? 2 : 1;
}
