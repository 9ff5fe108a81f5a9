#include "group/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <map>

namespace lockstep {

namespace {

using Variables = std::map<std::string, std::string>;

Identity identity_from(const Variables& variables) {
  return identify(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      },
      4711);
}

std::string refusal(const Variables& variables) {
  try {
    identity_from(variables);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "";
}

}  // namespace

TEST(Identity, NoLauncherIsAWorldOfOne) {
  const Identity identity = identity_from(Variables{});
  EXPECT_EQ(identity.rank, 0);
  EXPECT_EQ(identity.size, 1);
}

TEST(Identity, AGroupIsNamedByItsRanksOfTheWorld) {
  const Identity part{.rank = 1, .size = 2, .world_ranks = {1, 3}};
  EXPECT_EQ(name_of_group(part), "the group of the world's ranks 1, 3");
  EXPECT_EQ(of_which_group(part), " of the group of the world's ranks 1, 3");
  EXPECT_EQ(name_of_group(Identity()), "");
  EXPECT_EQ(of_which_group(Identity()), "");
}

TEST(Identity, OurLauncherAndTorchrun) {
  const Variables torchrun{{"RANK", "2"},
                           {"WORLD_SIZE", "4"},
                           {"LOCAL_RANK", "2"},
                           {"LOCAL_WORLD_SIZE", "4"},
                           {"MASTER_ADDR", "localhost"},
                           {"MASTER_PORT", "29500"},
                           {"TORCHELASTIC_RUN_ID", "none"},
                           {"TORCHELASTIC_RESTART_COUNT", "0"}};
  EXPECT_EQ(identity_from(torchrun).rank, 2);
  EXPECT_EQ(identity_from(torchrun).local_size, 4);
  EXPECT_EQ(identity_from(torchrun).local_size_from, "LOCAL_WORLD_SIZE is 4");
  EXPECT_EQ(identity_from(torchrun).job, "torchrun-none-localhost-29500-0");
  // A restarted job is another job: stragglers of the last attempt must not join it.
  Variables restarted = torchrun;
  restarted["TORCHELASTIC_RESTART_COUNT"] = "1";
  EXPECT_NE(identity_from(restarted).job, identity_from(torchrun).job);
  Variables ours = torchrun;
  ours["LOCKSTEP_JOB"] = "secret";
  EXPECT_EQ(identity_from(ours).job, "secret");
}

TEST(Identity, MpirunAndSrun) {
  const Identity ompi = identity_from({{"OMPI_COMM_WORLD_RANK", "1"},
                                       {"OMPI_COMM_WORLD_SIZE", "2"},
                                       {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                       {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                       {"PMIX_NAMESPACE", "77"}});
  EXPECT_EQ(ompi.rank, 1);
  EXPECT_EQ(ompi.job, "ompi-77");
  const Identity mpich = identity_from({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  EXPECT_EQ(mpich.local_rank, 1);
  EXPECT_EQ(mpich.job, "mpich-parent-4711");
  const Identity slurm = identity_from({{"SLURM_PROCID", "3"},
                                        {"SLURM_NTASKS", "4"},
                                        {"SLURM_LOCALID", "3"},
                                        {"SLURM_JOB_ID", "5"},
                                        {"SLURM_STEP_ID", "0"}});
  EXPECT_TRUE(ompi.by_mpi && mpich.by_mpi);
  EXPECT_FALSE(slurm.by_mpi);
  EXPECT_EQ(slurm.size, 4);
  EXPECT_EQ(slurm.local_size_from, "SLURM_NTASKS_PER_NODE is not set");
  EXPECT_EQ(slurm.job, "slurm-5-0");
}

/// Slurm sets these in sbatch's own shell, and those that name no task in salloc's.
TEST(Identity, AnAllocationIsNoJobUntilSrunStartsIt) {
  const Variables in_salloc{{"SLURM_JOB_ID", "5"}, {"SLURM_NTASKS", "4"}, {"SLURM_TASKS_PER_NODE", "4"}};
  Variables in_sbatch = in_salloc;
  in_sbatch.insert({{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "0"}});
  EXPECT_EQ(identity_from(in_salloc).size, 1);
  EXPECT_EQ(identity_from(in_sbatch).size, 1);
  for (const auto& [name, value] : Variables{{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}}) {
    Variables in_step = in_sbatch;
    in_step[name] = value;
    EXPECT_EQ(identity_from(in_step).size, 4) << name;
  }
  Variables without_rank = in_salloc;
  without_rank["SLURM_STEP_ID"] = "0";
  EXPECT_THAT(refusal(without_rank), testing::HasSubstr("The launcher set no SLURM_PROCID"));
}

TEST(Identity, AStepOfFewerTasksThanItsJobHasSoMany) {
  const Variables step{{"SLURM_PROCID", "1"},
                       {"SLURM_NTASKS", "4"},
                       {"SLURM_JOB_ID", "5"},
                       {"SLURM_STEP_ID", "3"},
                       {"SLURM_STEP_NUM_TASKS", "2"}};
  EXPECT_EQ(identity_from(step).size, 2);
  EXPECT_EQ(identity_from(step).job, "slurm-5-3");
  const Variables interactive{{"SLURM_PROCID", "0"},          {"SLURM_NTASKS", "4"},
                              {"SLURM_NTASKS_PER_NODE", "4"}, {"SLURM_STEP_ID", "4294967290"},
                              {"SLURM_STEP_NUM_TASKS", "1"},  {"SLURM_STEP_TASKS_PER_NODE", "1"}};
  EXPECT_EQ(identity_from(interactive).size, 1) << "salloc's shell, where that is a step";
  Variables beyond = step;
  beyond["SLURM_PROCID"] = "2";
  EXPECT_THAT(refusal(beyond), testing::HasSubstr("SLURM_PROCID is 2 and SLURM_STEP_NUM_TASKS is 2"));
}

TEST(Identity, SrunSaysHowManyShareANode) {
  const auto rank_3 = [](const char* by_node, const char* node) {
    return identity_from({{"SLURM_PROCID", "3"},
                          {"SLURM_NTASKS", "8"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_NTASKS_PER_NODE", "8"},  // of the job, not of this step
                          {"SLURM_STEP_TASKS_PER_NODE", by_node},
                          {"SLURM_NODEID", node}});
  };
  const auto ranks_here = [&](const char* by_node, const char* node) { return rank_3(by_node, node).local_size; };
  EXPECT_EQ(rank_3("4(x2)", "1").local_size_from, "SLURM_STEP_TASKS_PER_NODE is 4(x2)");
  EXPECT_EQ(ranks_here("4(x2)", "1"), 4);
  EXPECT_EQ(ranks_here("3(x2),2", "0"), 3);
  EXPECT_EQ(ranks_here("3(x2),2", "2"), 2);
  EXPECT_EQ(ranks_here("5,3", "1"), 3);
  EXPECT_EQ(ranks_here("8", "0"), 8);
}

TEST(Identity, AListOfNodesThatSrunDidNotWriteIsRefused) {
  const auto refusal_of = [](const char* by_node, const char* node) {
    return refusal({{"SLURM_PROCID", "3"},
                    {"SLURM_NTASKS", "8"},
                    {"SLURM_STEP_ID", "0"},
                    {"SLURM_STEP_TASKS_PER_NODE", by_node},
                    {"SLURM_NODEID", node}});
  };
  EXPECT_EQ(refusal_of("4(x2)", "2"),
            "SLURM_STEP_TASKS_PER_NODE is '4(x2)' and SLURM_NODEID is 2; the list has no such node. Start the program "
            "with srun, or unset both.");
  EXPECT_THAT(refusal_of("4(x2)", "-1"), testing::HasSubstr("SLURM_NODEID is -1; the list has no such node"));
  EXPECT_THAT(refusal_of("4(x2)", "first"), testing::HasSubstr("SLURM_NODEID is 'first', which is not a whole number"));
  for (const char* list : {"many", "4(x", "4(x)", "4(x2", "4(x2]", "4(xx2)", "(x2)", "0(x2)", "-4(x2)", "4(x0)", ",4",
                           "4,,4", "4 (x2)", "4(x2)3", "99999999999"}) {
    EXPECT_EQ(refusal_of(list, "1"), std::string("SLURM_STEP_TASKS_PER_NODE is '") + list +
                                         "', which is no list of tasks as srun writes it, such as 4(x2),3; start the "
                                         "program with srun, or unset it.");
  }
  EXPECT_EQ(refusal_of("9(x2147483647),1(x2147483647)", "2147483647"), "") << "nodes are counted as far as they go";
}

TEST(Identity, SrunThatSpeaksPmi2SaysWhoIsOnANode) {
  const Identity rank_5 = identity_from({{"PMI_RANK", "5"},
                                         {"PMI_SIZE", "8"},
                                         {"PMI_JOBID", "7.0"},
                                         {"SLURM_PROCID", "5"},
                                         {"SLURM_LOCALID", "1"},
                                         {"SLURM_NODEID", "1"},
                                         {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}});
  EXPECT_EQ(rank_5.rank, 5);
  EXPECT_EQ(rank_5.local_rank, 1);
  EXPECT_EQ(rank_5.local_size, 4);
}

TEST(Identity, NamesTheVariableThatIsWrong) {
  EXPECT_THAT(refusal({{"RANK", "0"}}), testing::HasSubstr("WORLD_SIZE"));
  EXPECT_THAT(refusal({{"RANK", "two"}, {"WORLD_SIZE", "4"}}), testing::HasSubstr("RANK is 'two'"));
  EXPECT_THAT(refusal({{"RANK", "4"}, {"WORLD_SIZE", "4"}}), testing::HasSubstr("RANK is 4 and WORLD_SIZE is 4"));
  EXPECT_THAT(refusal({{"OMPI_COMM_WORLD_RANK", "-1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}),
              testing::HasSubstr("OMPI_COMM_WORLD_RANK is -1"));
  for (const char* here : {"0", "5", "-1"}) {
    EXPECT_THAT(refusal({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", here}}),
                testing::HasSubstr(std::string("LOCAL_WORLD_SIZE is ") + here + "; of 4 ranks in all, 1 to 4 are"));
  }
  EXPECT_THAT(refusal({{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "4"}, {"LOCAL_WORLD_SIZE", "4"}}),
              testing::HasSubstr("LOCAL_RANK is 4; of 4 ranks it lies between 0 and 3"));
}

}  // namespace lockstep
