#include "planner/calibration/calibration.h"

#include "algorithms/catalog.h"
#include "base/atomic_file.h"
#include "base/error_for_tests.h"
#include "planner/calibration/calibration_for_tests.h"
#include "planner/one_host/tcp_model_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep {

namespace {

using JsonPointer = nlohmann::json::json_pointer;

/// Where each value stands that has a name; of lists of objects, those of the first.
void collect_places(const nlohmann::json& value, const JsonPointer& here, std::vector<JsonPointer>& places) {
  if (value.is_array() && !value.empty()) collect_places(value.front(), here / std::size_t{0}, places);
  if (!value.is_object()) return;
  for (const auto& [key, inner] : value.items()) {
    places.push_back(here / key);
    collect_places(inner, here / key, places);
  }
}

/// As of something measured, with a selection and with samples of either medium.
nlohmann::json written_calibration() {
  Calibration calibration = calibration_with(1e-6, 1e-10, 3e-10);
  calibration.selections[4] = Selection::parse("all_reduce: ring", "four");
  calibration.tcp.model = tcp_model_for_tests(4);
  calibration.tcp.samples = {{.algorithm = "tree", .ranks = 4, .bytes = 8, .seconds = 1e-5}};
  return nlohmann::json::parse(to_json(calibration));
}

void expect_no_calibration(const nlohmann::json& spoilt) {
  EXPECT_THAT([&] { (void)parse_calibration(spoilt.dump(), "file.json"); },
              testing_support::refuses(ErrorCode::kRefused, "file.json is no calibration ("));
}

}  // namespace

TEST(Calibration, ComesBackFromItsJson) {
  Calibration written = calibration_with(1e-6, 1e-10, 3e-10);
  written.selections[4] = Selection::parse("all_reduce: 0-4KiB tree, 4KiB- ring", "four");
  written.tcp.model = tcp_model_for_tests(4);
  written.tcp.link.alpha_s = 2e-5;
  written.tcp.held_back.ranks = {.median = 0.1, .worst = 0.4};
  written.tcp.samples = {{.algorithm = "tree", .ranks = 4, .bytes = 8, .seconds = 1e-5}};
  const Calibration read = parse_calibration(to_json(written), "written");
  EXPECT_EQ(read.machine, written.machine);
  EXPECT_EQ(read.shm.seconds.values, written.shm.seconds.values);
  EXPECT_EQ(read.link.alpha_s, 3e-7);
  EXPECT_EQ(read.link.beta_s, 1e-10);
  EXPECT_EQ(read.link.gamma_s, 5e-11);
  EXPECT_EQ(read.tcp.link.alpha_s, 2e-5);
  EXPECT_EQ(read.held_back.sizes.worst, 0.2);
  EXPECT_EQ(read.held_back.ranks.worst, 0.3);
  EXPECT_EQ(read.selections, written.selections);
  ASSERT_EQ(read.samples.size(), 1U);
  EXPECT_EQ(read.samples[0].algorithm, "ring");
  EXPECT_EQ(read.samples[0].error, 0.01);
  EXPECT_EQ(read.samples[0].other_state_s, 3e-6);
  EXPECT_EQ(read.samples[0].other_state_error, 0.02);
  EXPECT_EQ(read.samples[0].predicted_s, 2e-6);
  EXPECT_EQ(read.tcp.model.seconds.values, written.tcp.model.seconds.values);
  EXPECT_EQ(read.tcp.model.cores, 2);
  EXPECT_EQ(read.tcp.model.most_ranks, 4);
  EXPECT_EQ(read.tcp.held_back.ranks.worst, 0.4);
  ASSERT_EQ(read.tcp.samples.size(), 1U);
  EXPECT_EQ(read.tcp.samples[0].ranks, 4);
}

TEST(Calibration, WhatIsNoneIsRefusedWithWhatToDo) {
  for (const char* text : {"", "{}", "[]", R"({"version":1})"}) {
    try {
      (void)parse_calibration(text, "file.json");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kRefused);
      EXPECT_THAT(error.what(), testing::StartsWith("file.json is no calibration ("));
      EXPECT_THAT(error.what(), testing::HasSubstr("`lockstep calibrate`"));
    }
  }
}

TEST(Calibration, WithoutOneOfItsValuesOrWithOneOfAnotherKindItIsRefused) {
  const nlohmann::json whole = written_calibration();
  ASSERT_NO_THROW((void)parse_calibration(whole.dump(), "file.json"));
  std::vector<JsonPointer> places;
  collect_places(whole, JsonPointer(), places);
  ASSERT_GT(places.size(), 50U);
  for (const JsonPointer& place : places) {
    SCOPED_TRACE(place.to_string());
    nlohmann::json spoilt = whole;
    nlohmann::json& value = spoilt.at(place);
    value = value.is_boolean() ? nlohmann::json("text") : nlohmann::json(true);
    expect_no_calibration(spoilt);
    if (place.parent_pointer() == JsonPointer("/selections")) continue;  // of which there may be fewer
    nlohmann::json shorter = whole;
    shorter.at(place.parent_pointer()).erase(place.back());
    expect_no_calibration(shorter);
  }
}

/// Their reasons quote what stands there.
TEST(Calibration, WhatADamagedFileHoldsIsNotPrintedAsItIs) {
  Calibration escaped = calibration_with(1e-6, 1e-10, 1e-10);
  escaped.machine.processor = "\x1b[2J";
  for (const std::string& text : {std::string("\x7f"
                                              "ELF\x02\x01\x00\x1b[2J\xff\xfe",
                                              13),
                                  std::string("{\"version\": \"\xff\x1b"), std::string("{\"\x9b"), to_json(escaped)}) {
    try {
      (void)parse_calibration(text, "file.json");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::StartsWith("file.json is no calibration ("));
      EXPECT_THAT(std::string(error.what()), testing::Each(testing::AllOf(testing::Ge(' '), testing::Le('~'))));
    }
  }
}

TEST(Calibration, ItsFaultIsSaidWithoutTheNameOfALibrary) {
  for (const auto& [text, why] : {std::pair(R"({})", "key 'version' not found"),
                                  std::pair(R"({"version": )", "parse error at line 1, column 13: "),
                                  std::pair(R"([])", "cannot use at() with array")}) {
    EXPECT_THAT([&] { (void)parse_calibration(text, "file.json"); },
                testing_support::refuses(ErrorCode::kRefused, std::string("file.json is no calibration (") + why))
        << text;
  }
}

TEST(Calibration, OfAnotherVersionIsRefused) {
  EXPECT_THAT([] { (void)parse_calibration(R"({"version":1})", "file.json"); },
              testing_support::refuses(ErrorCode::kRefused,
                                       "file.json is no calibration (another version of Lockstep wrote it); measure "
                                       "again with `lockstep calibrate`, or remove it."));
}

/// Nobody takes an algorithm or a price from a file that a person or a disk has changed.
TEST(Calibration, WhatCannotHaveBeenMeasuredIsRefused) {
  const auto expect_refused = [](const std::function<void(Calibration&)>& change, const std::string& why) {
    SCOPED_TRACE(why);
    Calibration calibration = calibration_with(1e-6, 1e-10, 1e-10);
    change(calibration);
    try {
      (void)parse_calibration(to_json(calibration), "file.json");
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kRefused);
      EXPECT_THAT(error.what(), testing::HasSubstr(why));
    }
  };
  expect_refused([](Calibration& one) { one.link.beta_s = -1; }, "'beta_s' is -1, and must be 0 or more");
  expect_refused([](Calibration& one) { one.tcp.model.cores = 0; }, "TCP was measured on no core");
  expect_refused([](Calibration& one) { one.machine.cores = -1; }, "'cores' is -1, and must be a whole number from 0");
  expect_refused([](Calibration& one) { one.samples[0].algorithm = "rng"; }, "There is no algorithm 'rng'");
  expect_refused([](Calibration& one) { one.samples[0].algorithm = "pairwise"; },
                 "The algorithm 'pairwise' does no all_reduce, but all_to_all;");
  for (const int ranks : {1, 65, 1 << 20}) {
    expect_refused([&](Calibration& one) { one.samples[0].ranks = ranks; },
                   "'ranks' is " + std::to_string(ranks) + ", and must be a whole number from 2 to 64");
  }
  expect_refused([](Calibration& one) { one.samples[0].bytes = -64; }, "'bytes' is -64, and must be 0 or more");
  expect_refused([](Calibration& one) { one.samples[0].seconds = 0; }, "'seconds' is 0, and must be more");
  expect_refused([](Calibration& one) { one.shm.seconds[HostCost::kMove] = -1; }, "'shm_seconds' has -1");
  expect_refused([](Calibration& one) { one.tcp.model.seconds[TcpCost::kVain] = -1; }, "'seconds' has -1");
  expect_refused([](Calibration& one) { one.selections[-4] = Selection::parse("all_reduce: ring", "four"); },
                 "'-4' is no number of ranks");
  Calibration of_four = calibration_with(1e-6, 1e-10, 1e-10);
  of_four.selections[4] = Selection::parse("all_reduce: ring", "four");
  std::string text = to_json(of_four);
  text.insert(text.find("\"4\":") + 2, "x");
  EXPECT_THAT([&] { (void)parse_calibration(text, "file.json"); },
              testing_support::refuses(ErrorCode::kRefused, "'4x' is no number of ranks"));
}

TEST(Calibration, IsFoundForItsMachineOnly) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "lockstep_calibration_test";
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", folder.c_str(), 1), 0);
  EXPECT_EQ(calibration_file(), folder / "lockstep" / "calibration.json");
  const Calibration calibration = calibration_with(1e-6, 1e-10, 1e-10);
  EXPECT_FALSE(stored_calibration(calibration.machine).has_value());
  std::filesystem::create_directories(folder / "lockstep");
  write_file_atomically(folder / "lockstep" / "calibration.json", to_json(calibration));
  EXPECT_TRUE(stored_calibration(calibration.machine).has_value());
  Machine other = calibration.machine;
  other.memory_bytes *= 0.99;
  EXPECT_TRUE(stored_calibration(other).has_value()) << "another kernel keeps more for itself";
  other.cores = 3;
  EXPECT_FALSE(stored_calibration(other).has_value());
  std::filesystem::remove_all(folder);
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", "folder/of/the/moment", 1), 0);
  EXPECT_TRUE(calibration_file().value_or("/").is_absolute()) << "that of HOME";
  ASSERT_EQ(::unsetenv("XDG_CACHE_HOME"), 0);
}

TEST(Calibration, TellsWhatWasHeldBackInWords) {
  HeldBack held_back{.sizes = {.median = 0.03, .worst = 0.3}, .ranks = {}};
  EXPECT_EQ(to_text(held_back), "sizes with a median error of 3 %, at worst 30 %");
  held_back.ranks = {.median = 0.09, .worst = 0.48};
  EXPECT_EQ(to_text(held_back),
            "sizes with a median error of 3 %, at worst 30 %; numbers of ranks with 9 %, at worst 48 %");
}

TEST(Calibration, AStoredSelectionIsForItsRanksAndTheNextMore) {
  Calibration calibration = calibration_with(1e-6, 1e-10, 1e-10);
  EXPECT_EQ(stored_selection(calibration, 4), built_in_selection(4)) << "nothing is stored";
  const Selection of_four = Selection::parse("all_reduce: 0- tree", "four");
  calibration.selections[4] = of_four;
  EXPECT_EQ(stored_selection(calibration, 3), built_in_selection(3));
  EXPECT_EQ(stored_selection(calibration, 4), of_four);
  EXPECT_EQ(stored_selection(calibration, 7), of_four);
  EXPECT_EQ(stored_selection(calibration, kMostSelectedRanks + 1), built_in_selection(kMostSelectedRanks + 1));
}

}  // namespace lockstep
