#pragma once

#include "base/held_port.h"
#include "transport/tcp/deadline_for_tests.h"
#include "transport/tcp/hmac.h"
#include "transport/tcp/join.h"
#include "transport/tcp/tcp_socket.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace lockstep::tcp {

using Kind = FileDescriptor Host::Link::*;
inline constexpr std::array<Kind, 3> kLinkKinds{&Host::Link::control, &Host::Link::data, &Host::Link::messages};

/// Ranks that join each other in this process.
class JoinTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!hmac_is_built_in()) GTEST_SKIP() << "built without OpenSSL";
  }

  JoinRequest request(int rank, int size) const {
    return {.job = "join_test",
            .rank = rank,
            .size = size,
            .port = port_.number,
            .secret = secret_,
            .timeout = std::chrono::milliseconds(20'000)};
  }

  /// Joins each request in a thread of its own, all but the first after `before_others`; what went wrong, by rank,
  /// empty where nothing did.
  std::vector<std::string> join(
      const std::vector<JoinRequest>& requests, const std::function<void()>& before_others = [] {}) {
    std::vector<std::string> errors(requests.size());
    hosts_.clear();
    hosts_.resize(requests.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      threads.emplace_back([&, i] {
        if (i > 0) before_others();
        try {
          hosts_[i] = join_processes(requests[i]);
        } catch (const Error& error) {
          errors[i] = error.what();
        }
      });
    }
    threads.clear();
    return errors;
  }

  /// By a connection of each kind, which carries something either way.
  void expect_each_two_connected(int size) const {
    for (int a = 0; a < size; ++a) {
      const auto& links = hosts_[static_cast<std::size_t>(a)].links;
      ASSERT_EQ(links.size(), static_cast<std::size_t>(size));
      for (int b = 0; b < size; ++b) {
        for (const Kind kind : kLinkKinds)
          EXPECT_EQ(static_cast<bool>(links[static_cast<std::size_t>(b)].*kind), a != b);
      }
    }
    // Each end talks to the rank that it thinks it talks to.
    for (int a = 0; a < size; ++a) {
      for (int b = 0; b < size; ++b) {
        if (a == b) continue;
        const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        const auto& there = hosts_[static_cast<std::size_t>(a)].links[static_cast<std::size_t>(b)];
        const auto& here = hosts_[static_cast<std::size_t>(b)].links[static_cast<std::size_t>(a)];
        for (std::size_t kind = 0; kind < kLinkKinds.size(); ++kind) {
          const std::size_t sent = 100 * static_cast<std::size_t>(10 * a + b) + kind;
          std::size_t got = 0;
          ASSERT_EQ(send_all(there.*kLinkKinds[kind], &sent, sizeof sent, deadline), Moved::kAll);
          ASSERT_EQ(receive_all(here.*kLinkKinds[kind], &got, sizeof got, deadline), Moved::kAll);
          EXPECT_EQ(got, sent);
        }
      }
    }
  }

  std::vector<JoinRequest> world(int size) const {
    std::vector<JoinRequest> requests;
    for (int rank = 0; rank < size; ++rank) requests.push_back(request(rank, size));
    return requests;
  }

  HeldPort port_ = hold_port();
  Secret secret_ = Secret::make();
  std::vector<Host> hosts_;
};

}  // namespace lockstep::tcp
