// Over real connections, with a library that sums in this process's memory.
#include "runtime/vendor_operation.h"

#include "algorithms/catalog.h"
#include "transport/tcp/transports_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

constexpr std::size_t kElements = 6;

/// What the ranks have handed over.
struct Library {
  std::mutex mutex;
  std::vector<float> sum = std::vector<float>(kElements);
  int came = 0;
};

class SummingCollective final : public VendorCollective {
 public:
  /// `awaited`: how many must have come to each call before it is complete.
  SummingCollective(Library& library, int awaited) : library_(library), awaited_(awaited) {}
  void begin(const void* input, void* output) override {
    const std::lock_guard lock(library_.mutex);
    const auto* const values = static_cast<const float*>(input);
    for (std::size_t i = 0; i < kElements; ++i) library_.sum[i] += values[i];
    ++library_.came;
    until_ += awaited_;
    output_ = static_cast<float*>(output);
  }
  bool test() override {
    const std::lock_guard lock(library_.mutex);
    if (library_.came < until_) return false;
    std::copy(library_.sum.begin(), library_.sum.end(), output_);
    return true;
  }

 private:
  Library& library_;
  int awaited_;
  int until_ = 0;
  float* output_ = nullptr;
};

/// A rank's all_reduce by the library.
class VendorSubject {
 public:
  VendorSubject(MessageTransport& transport, Library& library, ReduceOp op, std::size_t count, int awaited)
      : transport_(transport), shared_(transport.size()) {
    Announcement announcement;
    announcement.collective = Collective::kAllReduce;
    announcement.op = op;
    announcement.count = count;
    announcement.fingerprint = fingerprint_of(announcement);
    const Schedule barrier =
        find_algorithm("ring").build({.collective = Collective::kBarrier, .ranks = transport.size()});
    auto plan = std::make_shared<const MessagePlan>(make_message_plan(barrier, transport.rank()));
    MessageOperation::Setup meeting{
        .plan = std::move(plan), .announcement = announcement, .layout = Layout({}), .only_meets = true};
    operation_ = std::make_unique<VendorOperation>(
        transport,
        VendorOperation::Setup{.meeting = std::make_unique<MessageOperation>(transport, shared_, std::move(meeting)),
                               .collective = std::make_unique<SummingCollective>(library, awaited),
                               .announcement = announcement,
                               .reduced = {2 * sizeof(float), 3}});
  }

  void run(std::vector<float>& values, std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    const Call call{values.data(), values.data(), "", timeout};
    operation_->begin(call, ++calls_);
    while (!operation_->advance()) operation_->wait_for_peer();
  }

  std::string error_of(std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    std::vector<float> values(kElements, 1);
    try {
      run(values, timeout);
    } catch (const Error& error) {
      transport_.fail(error);
      return error.what();
    }
    return "no error";
  }

 private:
  MessageTransport& transport_;
  MessageOperation::Shared shared_;
  std::unique_ptr<VendorOperation> operation_;
  std::uint64_t calls_ = 0;
};

/// What three ranks have in the end that brought 1, 2 and 3, and twice that in the next call: the library sums on.
void expect_result(ReduceOp op, const std::vector<float>& expected) {
  Library library;
  tcp::on_transports(3, [&](MessageTransport& transport) {
    VendorSubject subject(transport, library, op, kElements, 3);
    for (const float calls : {1.0F, 2.0F}) {
      std::vector<float> values(kElements, static_cast<float>(transport.rank() + 1));
      subject.run(values);
      for (std::size_t i = 0; i < kElements; ++i) EXPECT_EQ(values[i], calls * expected[i]) << i;
    }
  });
}

}  // namespace

TEST(VendorOperation, TheLibraryHasItOnceAllHaveMet) {
  expect_result(ReduceOp::kSum, std::vector<float>(kElements, 6));
}

TEST(VendorOperation, OfAMeanItDividesWhatIsReducedHere) { expect_result(ReduceOp::kMean, {6, 6, 2, 2, 2, 6}); }

TEST(VendorOperation, DisagreementIsFoundBeforeTheLibraryHasAnything) {
  Library library;
  std::atomic<int> told = 0;
  tcp::on_transports(2, [&](MessageTransport& transport) {
    VendorSubject subject(transport, library, ReduceOp::kSum, transport.rank() == 0 ? 10 : 12, 2);
    EXPECT_THAT(subject.error_of(),
                testing::AllOf(testing::HasSubstr("all_reduce of 10"), testing::HasSubstr("all_reduce of 12")));
    ++told;
    while (told < 2) std::this_thread::yield();
  });
  EXPECT_EQ(library.came, 0);
}

TEST(VendorOperation, ADeadlineHoldsInsideTheLibraryToo) {
  Library library;
  std::atomic<int> told = 0;
  tcp::on_transports(2, [&](MessageTransport& transport) {
    // Rank 1's part is complete; rank 0 waits for somebody who is not there.
    VendorSubject subject(transport, library, ReduceOp::kSum, kElements, transport.rank() == 0 ? 3 : 1);
    if (transport.rank() == 0) {
      EXPECT_THAT(subject.error_of(std::chrono::milliseconds(200)),
                  testing::HasSubstr("rank 0 waited 0.2 s for rank 1, which gave no answer"));
    } else {
      EXPECT_EQ(subject.error_of(), "no error");
    }
    ++told;
    while (told < 2) std::this_thread::yield();
  });
}

}  // namespace lockstep
