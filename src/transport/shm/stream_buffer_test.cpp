#include "transport/shm/stream_buffer.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace lockstep::shm {

namespace {

std::vector<char> counted(std::size_t bytes) {
  std::vector<char> text(bytes);
  std::iota(text.begin(), text.end(), 0);
  return text;
}

}  // namespace

TEST(StreamBuffer, HoldsWhatFitsAndNoMore) {
  const auto buffer = std::make_unique<StreamBuffer>();
  std::vector<char> text = counted(2 * StreamBuffer::kBytes);
  EXPECT_TRUE(buffer->has_room());
  EXPECT_FALSE(buffer->has_bytes());
  std::size_t written = 0;
  while (buffer->has_room()) {
    const iovec rest{text.data() + written, text.size() - written};
    written += buffer->write(std::span(&rest, 1));
  }
  EXPECT_EQ(written, StreamBuffer::kBytes);
  const iovec more{text.data(), 1};
  EXPECT_EQ(buffer->write(std::span(&more, 1)), 0U);
  std::vector<char> got(1);
  const iovec one{got.data(), 1};
  EXPECT_EQ(buffer->read(std::span(&one, 1)), 1U);
  EXPECT_TRUE(buffer->has_room());
}

/// Pieces of sizes that divide nothing, over the end of the buffer many times, from and to several places.
TEST(StreamBuffer, WhatIsWrittenIsReadInOrder) {
  const auto buffer = std::make_unique<StreamBuffer>();
  std::vector<char> text = counted(20 * StreamBuffer::kBytes + 17);
  std::vector<char> got(text.size());
  std::jthread writer([&] {
    for (std::size_t done = 0; done < text.size();) {
      const std::size_t first = std::min<std::size_t>(1009, text.size() - done);
      const iovec spans[] = {{text.data() + done, first},
                             {text.data() + done + first, std::min<std::size_t>(50'021, text.size() - done - first)}};
      const std::size_t bytes = buffer->write(spans);
      if (bytes == 0) std::this_thread::yield();
      done += bytes;
    }
  });
  for (std::size_t done = 0; done < got.size();) {
    const std::size_t first = std::min<std::size_t>(30'011, got.size() - done);
    const iovec spans[] = {{got.data() + done, first}, {got.data() + done + first, got.size() - done - first}};
    const std::size_t bytes = buffer->read(spans);
    if (bytes == 0) std::this_thread::yield();
    done += bytes;
  }
  EXPECT_EQ(got, text);
  EXPECT_FALSE(buffer->has_bytes());
}

}  // namespace lockstep::shm
