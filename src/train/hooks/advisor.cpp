// Does compression pay here?
#include <fmt/format.h>
#include <lockstep/hooks.h>

namespace lockstep {
namespace {

std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", seconds * 1e3); }

std::string text_of(const Link& link) {
  const std::string speed = link.beta_s > 0 ? fmt::format("{:.3g} MB/s", 1e-6 / link.beta_s) : "no time a byte";
  return fmt::format("{:.3g} us a message, {}, {}", link.alpha_s * 1e6, speed, link.source);
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
  const std::string costs = fmt::format("{} to send {:.3g} times fewer bytes and {} of its own, against {} without it",
                                        milliseconds(advice.sent_seconds), traffic.ratio(),
                                        milliseconds(advice.hook_seconds), milliseconds(advice.dense_seconds));
  advice.sentence =
      advice.pays ? fmt::format("{} pays on this link ({}): {}, which is {:.2g} times faster.", name, text_of(link),
                                costs, advice.dense_seconds / with)
                  : fmt::format("{} does not pay on this link ({}): {}. Use all_reduce.", name, text_of(link), costs);
  return advice;
}

Advice advise(const BucketHook& hook, const Link& link) { return advise(hook.name(), hook.traffic(), link); }

}  // namespace lockstep
