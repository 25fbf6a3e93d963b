// OpTester: drives one operator without an engine, for native tests. It does what the engine promises around an
// operator, and no more: an input's data is hidden from infer() unless the schema says that infer() reads it.
//
//   OpTester op("one_hot", {{"num_classes", 4}});
//   TestTensor out = op.run({TestTensor::of<int>({}, {2})})[0];
//   EXPECT_THAT(out.values<float>(), ElementsAre(0, 0, 1, 0));
#pragma once

#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/operator.h"
#include "graph/registry.h"

namespace headrace {

// A tensor that owns its bytes.
struct TestTensor {
  DType dtype = DType::kNone;
  Shape shape;
  Layout layout;
  std::vector<uint8_t> bytes;
  Source source;

  template <typename T>
  static TestTensor of(const Shape& shape, const std::vector<T>& values, const Layout& layout = {}) {
    TestTensor tensor{dtype_of<T>, shape, layout, std::vector<uint8_t>(values.size() * sizeof(T)), {}};
    check_internal(static_cast<int64_t>(values.size()) == shape.volume(), "shape {} needs {} values, got {}", shape,
                   shape.volume(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const T value = values[i];  // vector<bool> has no elements to point to
      std::memcpy(tensor.bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    return tensor;
  }

  template <typename T> std::vector<T> values() const {
    check_internal(dtype == dtype_of<T>, "the tensor holds {}, asked for {}", dtype_name(dtype),
                   dtype_name(dtype_of<T>));
    std::vector<T> list(bytes.size() / sizeof(T));
    for (size_t i = 0; i < list.size(); ++i) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      list[i] = value;
    }
    return list;
  }

  Sample sample() const {
    Sample s;
    s.data = const_cast<uint8_t*>(bytes.data());
    s.dtype = dtype;
    s.layout = layout;
    s.shape = shape;
    s.source = source;
    return s;
  }
};

class OpTester {
 public:
  // Constants are converted as the schema says; `tensor_args` names the arguments that run() gets as tensors.
  // Throws what the operator's constructor throws.
  explicit OpTester(const std::string& name, const ArgMap& constants = {}, std::vector<std::string> tensor_args = {},
                    int num_inputs = -1, uint64_t seed = 1234);

  const OpSpec& spec() const { return spec_; }
  Operator& op() { return *op_; }

  // One sample through infer() and run(); `arguments` are the values of tensor_args, in order.
  std::vector<TestTensor> run(const std::vector<TestTensor>& inputs, const std::vector<TestTensor>& arguments = {},
                              const SampleId& id = {});

  // A batch operator: inputs and arguments as [which][sample]; returns outputs likewise.
  std::vector<std::vector<TestTensor>> run_batch(const std::vector<std::vector<TestTensor>>& inputs,
                                                 const std::vector<std::vector<TestTensor>>& arguments = {});

 private:
  // Input descriptions with the layout that the engine would fill in, or refuse.
  std::vector<Sample> describe(const std::vector<TestTensor>& inputs) const;
  SampleContext context(std::vector<Sample>& in, std::vector<Sample>& args, std::vector<Sample>& out,
                        const SampleId& id);
  std::vector<TestTensor> compute(SampleContext& ctx, std::vector<Sample>& out);
  std::vector<TestTensor> view(const std::vector<TestTensor>& inputs, std::vector<Sample>& out);

  Registry registry_;
  OpSpec spec_;
  std::unique_ptr<Operator> op_;
  SampleOperator* sample_op_ = nullptr;
  Arena arena_{make_ref<HostPool>()};
};

}  // namespace headrace
