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

Ref<BatchRows> gather(const BatchRows& all, const std::vector<int>& rows) {
  auto chosen = make_ref<BatchRows>();
  for (int row : rows) {
    chosen->ids.push_back(all.ids[row]);
    chosen->status.push_back(all.status[row]);
  }
  return chosen;
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
  chosen.rows = gather(*ctx.rows, rows);
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
  Ref<Batch> all = batch.with_samples(std::move(samples));
  all->rows = nullptr;  // an operator that gave its input back gave the rows of the branch, too
  return all;
}

Ref<Batch> without_absent(const Ref<Batch>& batch) {
  std::vector<int> rows;
  for (int slot = 0; slot < batch->size(); ++slot) {
    if (batch->has(slot)) rows.push_back(slot);
  }
  if (static_cast<int>(rows.size()) == batch->size()) return batch;
  Ref<Batch> present = gather(*batch, rows);
  if (batch->rows) present->rows = gather(*batch->rows, rows);
  return present;
}

}  // namespace headrace
