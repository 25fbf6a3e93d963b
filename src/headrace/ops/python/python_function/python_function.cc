// python_function, dl_tensor_python_function: a function of the program works on the samples. The package converts
// samples and results (python/headrace/python_function.py); here they differ in name only.
#include "graph/registry.h"
#include "ops/python/callback.h"

namespace headrace {
namespace {

class PythonFunction final : public CallbackOperator {
 public:
  explicit PythonFunction(const OpSpec& spec) : CallbackOperator(spec, Lane::kPython) {}
};

Schema function_schema(std::string name, std::string doc, bool by_batch) {
  return Schema(std::move(name))
      .doc(std::move(doc))
      .variadic_input("inputs", 0, 256, {.doc = "What the function gets, one argument each."})
      .side_effects()
      .outputs_from_arg(0, "num_outputs")
      .required_arg("function", ArgType::kInt, "The function to call; the engine knows it by a number.")
      .arg("num_outputs", ArgType::kInt, 1, "How many outputs the function returns; 0: it is called for its effect.")
      .arg("output_layouts", ArgType::kLayoutList, {}, "Layouts of the outputs; one for all, or a list.")
      .arg("batch_processing", ArgType::kBool, by_batch,
           "Call the function once for each batch, with lists of samples, instead of once for each sample.");
}

}  // namespace

void register_python_python_function(Registry& r) {
  r.add<PythonFunction>(function_schema("python_function", "Calls a Python function with NumPy arrays.", false));
  r.add<PythonFunction>(
      function_schema("dl_tensor_python_function", "Calls a Python function with DLPack capsules, for any framework.",
                      true)
          .ignored_arg("synchronize_stream", ArgType::kBool, "Accepted for DALI's sake: samples are in host memory."));
}

}  // namespace headrace
