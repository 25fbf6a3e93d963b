// The nodes behind plugin.jax.fn.jax_function: a JAX function of the program works on whole batches.
#include "graph/registry.h"
#include "ops/python/callback.h"

namespace headrace {
namespace {

// On one device: runs on the thread for Python.
class JaxFunction final : public CallbackOperator {
 public:
  explicit JaxFunction(const OpSpec& spec) : CallbackOperator(spec, Lane::kPython) {}
};

// Over several devices: XLA needs one order of such programs on all of them, which only one thread can give.
class JointJaxFunction final : public CallbackOperator {
 public:
  explicit JointJaxFunction(const OpSpec& spec) : CallbackOperator(spec, Lane::kCaller) {}
};

Schema function_schema(std::string name, std::string doc) {
  return Schema(std::move(name))
      .doc(std::move(doc))
      .variadic_input("inputs", 0, 256, {.doc = "Whole batches of samples of equal shape."})
      .never_merged()
      .outputs_from_arg(0, "num_outputs")
      .required_arg("function", ArgType::kInt, "Number of the function, given by the package.")
      .arg("num_outputs", ArgType::kInt, 1, "How many arrays the function returns.");
}

}  // namespace

void register_python_jax_function(Registry& r) {
  r.add<JaxFunction>(function_schema("_jax_function", "Calls a JAX function with the batch on one device."));
  r.add<JointJaxFunction>(
      function_schema("_joint_jax_function", "Calls a JAX function with global arrays over several devices."));
}

}  // namespace headrace
