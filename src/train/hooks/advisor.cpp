// Does compression pay here?
#include <fmt/format.h>
#include <lockstep/hooks.h>

#include <algorithm>

#include "base/units.h"

namespace lockstep {
namespace {

/// Three digits, of bytes a second.
std::string speed_of(double bandwidth) {
  const bool giga = bandwidth >= 999.5e6;  // what three digits round to 1000 MB/s, too
  return fmt::format("{:.3g} {}", bandwidth * (giga ? 1e-9 : 1e-6), giga ? "GB/s" : "MB/s");
}

std::string text_of(const Link& link) {
  const std::string speed = link.beta_s > 0 ? speed_of(1 / link.beta_s) : "no time a byte";
  return fmt::format("{:.3g} us a message, {}, {}", link.alpha_s * 1e6, speed, link.source);
}

/// What is paid for what, in the mean of an iteration if those were counted: what people measure is times of one.
std::string costs_of(const Advice& advice, const HookTraffic& traffic) {
  const auto mean = [&](double seconds) {
    return format_seconds(seconds / static_cast<double>(std::max<std::int64_t>(1, traffic.iterations)));
  };
  const std::string what = traffic.iterations > 0 ? fmt::format("an iteration (mean of {})", traffic.iterations)
                                                  : "what it was given so far";
  return fmt::format("{} takes {} to send {:.3g} times fewer bytes and {} of its own, against {} without it", what,
                     mean(advice.sent_seconds), traffic.ratio(), mean(advice.hook_seconds), mean(advice.dense_seconds));
}

}  // namespace

Advice advise(const std::string& name, const HookTraffic& traffic, const Link& link) {
  if (traffic.dense_bytes == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("advise({}): this hook has sent nothing to another rank yet; ask after some iterations on "
                            "two ranks or more.",
                            name));
  }
  Advice advice{.dense_seconds = link.alpha_s * traffic.dense_messages + link.beta_s * traffic.dense_bytes,
                .sent_seconds = link.alpha_s * traffic.messages + link.beta_s * traffic.sent_bytes,
                .hook_seconds = traffic.hook_seconds};
  const double with = advice.sent_seconds + advice.hook_seconds;
  advice.pays = with < advice.dense_seconds;
  const std::string costs = costs_of(advice, traffic);
  advice.sentence =
      advice.pays ? fmt::format("{} pays on this link ({}): {}, which is {:.2g} times faster.", name, text_of(link),
                                costs, advice.dense_seconds / with)
                  : fmt::format("{} does not pay on this link ({}): {}. Use all_reduce.", name, text_of(link), costs);
  return advice;
}

Advice advise(const BucketHook& hook, const Link& link) { return advise(hook.name(), hook.traffic(), link); }

}  // namespace lockstep
