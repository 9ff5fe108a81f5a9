#include "lab/text/training.h"

#include "lab/require.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <utility>

namespace lockstep::lab {

namespace {

void parse(const std::vector<std::string>& arguments, TextOptions& options) {
  CLI::App app;
  add_text_flags(app, options);
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
}

void check_same(std::string_view flag, const auto& asked, const auto& saved, const std::string& file) {
  if (asked != saved) {
    refuse(fmt::format("{} was trained with --{} {}, not {}: a resumed run keeps its model; leave the flag out.", file,
                       flag, saved, asked));
  }
}

void check_resumable(const TextOptions& options, const Checkpoint& checkpoint) {
  const GptSize &asked = options.settings.model, &saved = checkpoint.settings().model;
  check_same("tokens", options.settings.tokens, checkpoint.settings().tokens, options.resume);
  check_same("layers", asked.layers, saved.layers, options.resume);
  check_same("heads", asked.heads, saved.heads, options.resume);
  check_same("width", asked.width, saved.width, options.resume);
  check_same("context", asked.context, saved.context, options.resume);
  if (checkpoint.iteration() >= options.settings.iterations) {
    refuse(fmt::format("{} has {} iterations already and --iterations is {}: ask for more to go on.", options.resume,
                       checkpoint.iteration(), options.settings.iterations));
  }
}

std::vector<std::int32_t> encode_prompt(const Vocabulary& vocabulary, const std::string& prompt) {
  if (!prompt.empty()) return vocabulary.encode(prompt);
  if (vocabulary.kind() == TokenKind::kCharacters && vocabulary.alphabet().find('\n') == std::string::npos) return {0};
  return vocabulary.encode("\n");
}

}  // namespace

TextTask prepare_text(const std::vector<std::string>& arguments) {
  TextOptions options;
  parse(arguments, options);
  std::optional<Checkpoint> checkpoint;
  if (!options.resume.empty()) {
    checkpoint.emplace(options.resume);
    // Once more, with the saved settings where no flag says otherwise.
    TextOptions resumed;
    resumed.settings = checkpoint->settings();
    parse(arguments, resumed);
    options = resumed;
    check_resumable(options, *checkpoint);
  }
  validate(options);
  const auto& paths = options.settings.data;
  const std::string text = paths.empty() ? read_text({kDefaultText}) : read_text({paths.begin(), paths.end()});
  Vocabulary vocabulary =
      checkpoint ? checkpoint->vocabulary() : Vocabulary(parse_token_kind(options.settings.tokens), text);
  options.settings.model.vocabulary = vocabulary.size();
  TextData data(vocabulary.encode(text), options.settings.model.context);
  auto prompt = encode_prompt(vocabulary, options.prompt);
  require_writable(options.output);
  return {std::move(options), std::move(vocabulary), std::move(data), std::move(prompt), std::move(checkpoint)};
}

}  // namespace lockstep::lab
