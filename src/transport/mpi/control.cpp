#include "transport/mpi/control.h"

#include "transport/control_words.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace lockstep::mpi {

namespace {

enum Kind : std::uint32_t { kLeft = 1, kFailed, kAsk, kWaits, kTold };

}  // namespace

Control::Control(const Process& process, int peer, int world_rank, int tag)
    : process_(process), peer_(peer), world_rank_(world_rank), tag_(tag) {
  expect_word();
}

Control::~Control() {
  if (state_ == State::kActive) process_.give_up_receive(receive_, std::move(word_));
}

void Control::expect_word() {
  process_.receive(receive_, std::as_writable_bytes(std::span(word_.get(), 1)), world_rank_, tag_);
}

bool Control::listen() {
  bool has_told = false;
  while (state_ == State::kActive && process_.test(receive_)) has_told |= take_word();
  return has_told;
}

/// After the last word of a peer nothing more is expected of it. Whether the word is what the peer was told to say.
bool Control::take_word() {
  if (word_->kind == kLeft) state_ = State::kLeft;
  if (word_->kind == kFailed) state_ = State::kFailed;
  if (state_ != State::kActive) return false;
  waits_ |= word_->kind == kWaits;
  if (word_->kind == kTold) {
    told_bytes_ = std::min<std::size_t>(word_->code, told_.size());
    std::memcpy(told_.data(), word_->text.data(), told_bytes_);
  }
  if (word_->kind == kAsk) say({.kind = kWaits, .code = 0, .about = 0, .sent = {}, .text = {}});
  const std::uint32_t kind = word_->kind;
  expect_word();
  if (kind < kLeft || kind > kTold) throw unknown_word_of(peer_, kind);
  return kind == kTold;
}

Error Control::failure() const { return failure_told_by(peer_, word_->code, word_->about, word_->text); }

void Control::ask() {
  waits_ = false;
  say({.kind = kAsk, .code = 0, .about = 0, .sent = {}, .text = {}});
}

void Control::tell(std::span<const std::byte> what) {
  Word word{.kind = kTold, .code = static_cast<std::uint32_t>(what.size()), .about = 0, .sent = {}, .text = {}};
  std::memcpy(word.text.data(), what.data(), std::min(what.size(), told_.size()));
  say(word);
}

void Control::say_left(const Sent& sent) noexcept {
  try {
    say({.kind = kLeft, .code = 0, .about = 0, .sent = sent, .text = {}});
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it will be missed, at the others' deadlines
  }
}

void Control::say_failed(const Error& error) noexcept {
  try {
    Word word{.kind = kFailed,
              .code = static_cast<std::uint32_t>(error.code()),
              .about = error.peer(),
              .sent = {},
              .text = {}};
    const std::string text = error.what();
    text.copy(word.text.data(), word.text.size() - 1);
    say(word);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): as above
  }
}

/// A word is small enough for MPI to take it at once.
void Control::say(const Word& word) {
  if (state_ != State::kActive) return;
  auto kept = std::make_unique<Word>(word);
  Request request;
  process_.send(request, std::as_bytes(std::span(kept.get(), 1)), world_rank_, tag_, false);
  process_.give_up_send(request, std::move(kept));
}

}  // namespace lockstep::mpi
