// batch_permutation: for each sample of a batch the number of another one.
#include <numeric>
#include <vector>

#include "graph/registry.h"
#include "ops/random/random_output.h"

namespace headrace {
namespace {

bool has_fixed_point(const std::vector<int32_t>& order) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] == static_cast<int32_t>(i)) return true;
  }
  return false;
}

class BatchPermutation : public BatchOperator {
 public:
  explicit BatchPermutation(const OpSpec& spec)
      : seed_(spec.seed),
        repetitions_(spec.get_bool("allow_repetitions")),
        no_fixed_points_(spec.get_bool("no_fixed_points")) {}

  void run(BatchContext& ctx) const override {
    const std::vector<SampleId>& ids = ctx.rows->ids;
    const int size = static_cast<int>(ids.size());
    auto batch = make_ref<Batch>(ctx.pool, size);
    Sample scalar;
    scalar.dtype = DType::kInt32;
    batch->set_type(DType::kInt32, 0, Layout());
    if (size > 0) {
      // The batch is named by its first sample.
      RandomStream random(seed_, ids[0].epoch, ids[0].position);
      const std::vector<int32_t> order = repetitions_ ? draw_any(random, size) : draw_permutation(random, size);
      for (int i = 0; i < size; ++i) *static_cast<int32_t*>(batch->claim(i, scalar)) = order[i];
    }
    ctx.outputs[0] = std::move(batch);
  }

 private:
  // Each entry by itself; without fixed points out of the size - 1 others.
  std::vector<int32_t> draw_any(RandomStream& random, int size) const {
    std::vector<int32_t> order(size);
    const bool others = no_fixed_points_ && size > 1;
    for (int i = 0; i < size; ++i) {
      order[i] = static_cast<int32_t>(random.next_below(static_cast<uint64_t>(others ? size - 1 : size)));
      order[i] += others && order[i] >= i;
    }
    return order;
  }

  // Permutations without fixed points are e of all, so that e draws find one on average.
  std::vector<int32_t> draw_permutation(RandomStream& random, int size) const {
    std::vector<int32_t> order(size);
    do {
      std::iota(order.begin(), order.end(), 0);
      for (int i = size - 1; i > 0; --i) {
        std::swap(order[i], order[static_cast<int>(random.next_below(static_cast<uint64_t>(i) + 1))]);
      }
    } while (no_fixed_points_ && size > 1 && has_fixed_point(order));
    return order;
  }

  const uint64_t seed_;
  const bool repetitions_;
  const bool no_fixed_points_;
};

}  // namespace

void register_random_batch_permutation(Registry& r) {
  r.add<BatchPermutation>(
      Schema("batch_permutation")
          .doc("A random permutation of the batch: an index per sample (scalar, int32), for permute_batch.")
          .random()
          .arg("allow_repetitions", ArgType::kBool, false, "Draw each index by itself, so that indices may repeat.")
          .arg("no_fixed_points", ArgType::kBool, false,
               "No sample gets its own index, unless it is the only one of the batch.")
          .devices({"cpu"}));
}

}  // namespace headrace
