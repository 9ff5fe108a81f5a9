#include "train/mirrored/thread_generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <cstddef>

namespace lockstep::detail {
namespace {

// A key that is looked at before all others, and for which libtorch itself has no kernels.
constexpr auto kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

at::Generator& generator_of_thread() {
  static thread_local at::Generator generator;
  return generator;
}

bool may_have_generator(const c10::Argument& argument) {
  const auto optional = argument.type()->cast<c10::OptionalType>();
  return optional && optional->getElementType()->kind() == c10::TypeKind::GeneratorType;
}

/// Puts the thread's generator, which is the CPU's, where the operation was given none, and goes on with it. Operations
/// that make a tensor come through here again when they fill it, and only then is its device known.
void give_generator(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const bool on_cpu = keys.has_backend(c10::BackendComponent::CPUBit);
  const auto& arguments = operation.schema().arguments();
  const std::size_t first = stack->size() - arguments.size();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    c10::IValue& value = (*stack)[first + i];
    if (on_cpu && value.isNone() && may_have_generator(arguments[i]) && generator_of_thread().defined()) {
      value = generator_of_thread();
    }
  }
  operation.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey), stack);
}

/// Registers give_generator for every operation that takes a generator; the others never see the key.
class Interception {
 public:
  Interception()
      : others_(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__),
        random_(torch::Library::IMPL, "aten", kKey, __FILE__, __LINE__) {
    others_.fallback(torch::CppFunction::makeFallthrough());
    auto& dispatcher = c10::Dispatcher::singleton();
    for (const auto& name : dispatcher.getAllOpNames()) {
      if (name.getNamespace() != "aten") continue;
      const auto operation = dispatcher.findSchema(name);
      if (!operation) continue;
      for (const auto& argument : operation->schema().arguments()) {
        if (!may_have_generator(argument)) continue;
        const std::string full = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
        random_.impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&give_generator>());
        break;
      }
    }
  }

 private:
  torch::Library others_;
  torch::Library random_;
};

c10::DispatchKeySet intercepted() {
  static const Interception interception;
  return c10::DispatchKeySet(kKey);
}

}  // namespace

ThreadGenerator::ThreadGenerator(std::uint64_t seed) : intercept_(intercepted()) {
  generator_of_thread() = at::detail::createCPUGenerator(seed);
}

ThreadGenerator::~ThreadGenerator() { generator_of_thread() = at::Generator(); }

}  // namespace lockstep::detail
