#include "group/tcp_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <map>
#include <string>

namespace lockstep {

namespace {

tcp::JoinRequest request(const std::map<std::string, std::string>& variables) {
  return tcp_request({.rank = 1, .size = 4, .local_rank = 1, .local_size = 2, .job = "a job"},
                     [&](const char* name) -> std::optional<std::string> {
                       const auto found = variables.find(name);
                       if (found == variables.end()) return std::nullopt;
                       return found->second;
                     });
}

void expect_refused(const std::map<std::string, std::string>& variables, const std::string& why) {
  try {
    request(variables);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), testing::HasSubstr(why));
  }
}

}  // namespace

TEST(TcpRequest, MeetsBesideTheLaunchersPort) {
  const auto there = request({{"MASTER_ADDR", "10.0.0.7"}, {"MASTER_PORT", "29500"}});
  EXPECT_EQ(there.meet_at, "10.0.0.7");
  EXPECT_EQ(there.port, 29501);
  EXPECT_EQ(there.rank, 1);
  EXPECT_EQ(there.size, 4);
  EXPECT_EQ(there.here.rank, 1);
  EXPECT_EQ(there.here.ranks, 2);
  EXPECT_EQ(there.job, "a job");
  EXPECT_FALSE(there.secret);
}

TEST(TcpRequest, OwnVariablesGoFirst) {
  const auto there = request({{"MASTER_PORT", "29500"}, {"LOCKSTEP_PORT", "4000"}, {"LOCKSTEP_ADDRESS", "127.0.0.3"}});
  EXPECT_EQ(there.meet_at, "127.0.0.1");
  EXPECT_EQ(there.port, 4000);
  EXPECT_EQ(there.listen_on, "127.0.0.3");
}

TEST(TcpRequest, TheJobsSecretIsWhatRanksProveTheyKnow) {
  const Secret secret = Secret::make();
  const FileDescriptor inherited = secret.inheritable();
  const auto there = request({{"MASTER_PORT", "29500"}, {"LOCKSTEP_SECRET_FD", std::to_string(inherited.get())}});
  ASSERT_TRUE(there.secret);
  EXPECT_EQ(there.secret->bytes(), secret.bytes());
}

TEST(TcpRequest, SaysWhatIsMissingOrWrong) {
  expect_refused({}, "set neither LOCKSTEP_PORT nor MASTER_PORT");
  expect_refused({{"LOCKSTEP_PORT", "70000"}}, "port 70000");
  expect_refused({{"MASTER_PORT", "65535"}}, "port 65536");
  expect_refused({{"MASTER_PORT", "2147483647"}}, "port 2147483648");
  expect_refused({{"LOCKSTEP_PORT", "x"}}, "LOCKSTEP_PORT is 'x'");
}

}  // namespace lockstep
