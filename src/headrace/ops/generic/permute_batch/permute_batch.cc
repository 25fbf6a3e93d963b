// permute_batch: the samples of a batch in another order.
#include "core/convert.h"
#include "graph/registry.h"

namespace headrace {
namespace {

class PermuteBatch : public BatchOperator {
 public:
  explicit PermuteBatch(const OpSpec& spec) : tensor_(spec.tensor_index("indices")) {
    if (tensor_ < 0) indices_ = spec.get_ints("indices");
  }

  // Moves no bytes: the output's samples are views of the input's.
  void run(BatchContext& ctx) const override {
    const Batch& in = *ctx.inputs[0];
    const std::vector<int64_t> indices =
        tensor_ < 0 ? indices_ : read_indices(*ctx.arguments[static_cast<size_t>(tensor_)]);
    check(static_cast<int>(indices.size()) == in.size(),
          "[permute_batch] indices: expected one for each of the {} samples, got {}", in.size(), indices.size());
    std::vector<Sample> samples;
    for (const int64_t index : indices) {
      check(index >= 0 && index < in.size(), "[permute_batch] indices: expected 0 .. {}, got {}", in.size() - 1, index);
      samples.push_back(in[static_cast<int>(index)]);
    }
    ctx.outputs[0] = in.with_samples(std::move(samples));
  }

 private:
  static std::vector<int64_t> read_indices(const Batch& batch) {
    std::vector<int64_t> indices(static_cast<size_t>(batch.size()));
    for (int i = 0; i < batch.size(); ++i) {
      const Sample& sample = batch[i];
      check(is_integer(sample.dtype) && sample.volume() == 1,
            "[permute_batch] indices: expected one integer per sample, got {} of shape {}", dtype_name(sample.dtype),
            sample.shape);
      convert_array(sample.data, sample.dtype, &indices[static_cast<size_t>(i)], DType::kInt64, 1);
    }
    return indices;
  }

  const int tensor_;
  std::vector<int64_t> indices_;
};

}  // namespace

void register_generic_permute_batch(Registry& r) {
  r.add<PermuteBatch>(
      Schema("permute_batch")
          .doc(
              "Reorders the samples of a batch: sample i of the output is sample indices[i] of the input. An index may "
              "occur several times.")
          .input("data", {.doc = "Any tensors."})
          .required_arg("indices", ArgType::kIntList,
                        "A list with an index for each sample of the batch, or a node with one number per sample.",
                        PerSample::kAllowed));
}

}  // namespace headrace
