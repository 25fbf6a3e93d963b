// Selection: finding, gathering and scattering rows.
#include "exec/selection.h"

namespace headrace {
namespace {

Ref<Batch> gather(const Batch& batch, const std::vector<int>& rows) {
  std::vector<Sample> samples;
  samples.reserve(rows.size());
  for (int row : rows) samples.push_back(batch[row]);
  return batch.with_samples(std::move(samples));
}

}  // namespace

std::vector<int> present_rows(const BatchContext& ctx, const Ref<Batch>& scope, int size) {
  std::vector<int> rows;
  for (int slot = 0; slot < size; ++slot) {
    bool present = !scope || scope->has(slot);
    for (const auto& input : ctx.inputs) present = present && input->has(slot);
    for (const auto& argument : ctx.arguments) present = present && argument->has(slot);
    if (present) rows.push_back(slot);
  }
  return rows;
}

BatchContext gather_rows(const BatchContext& ctx, const std::vector<int>& rows) {
  BatchContext chosen = ctx;
  chosen.rows = make_ref<BatchRows>();
  for (int row : rows) {
    chosen.rows->ids.push_back(ctx.rows->ids[row]);
    chosen.rows->status.push_back(ctx.rows->status[row]);
  }
  for (auto* batches : {&chosen.inputs, &chosen.arguments}) {
    for (Ref<Batch>& batch : *batches) {
      batch = gather(*batch, rows);
      batch->rows = chosen.rows;
    }
  }
  return chosen;
}

Ref<Batch> scatter_rows(const Batch& batch, const std::vector<int>& rows, int size) {
  std::vector<Sample> samples(static_cast<size_t>(size));
  for (size_t i = 0; i < rows.size(); ++i) samples[rows[i]] = batch[static_cast<int>(i)];
  return batch.with_samples(std::move(samples));
}

}  // namespace headrace
