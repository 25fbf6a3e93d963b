// Taking several iterations at once into buffers of the caller.
#include "exec/packed_iterations.h"

namespace headrace {
namespace {

void keep_under_way(Executor& executor, int depth) {
  for (int64_t n = executor.started() - executor.delivered(); n < depth && (n == 0 || executor.room_to_start()); ++n) {
    executor.start();
  }
}

bool looks_like(const Batch& batch, const PackedOutput& output) {
  const int samples = batch.size();
  if (samples != output.shape[0] || batch.dtype() != output.dtype || batch.ndim() + 1 != output.shape.ndim()) {
    return false;
  }
  for (int axis = 0; axis < batch.ndim(); ++axis) {
    if (samples > 0 && batch[0].shape[axis] != output.shape[axis + 1]) return false;
  }
  return batch.is_uniform();
}

bool fit(const IterationOutputs& iteration, const std::vector<PackedOutput>& outputs) {
  for (const std::vector<Ref<Batch>>& plan : iteration) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!looks_like(*plan[i], outputs[i])) return false;
    }
  }
  return true;
}

std::vector<Ref<BatchRows>> rows_of(const IterationOutputs& iteration) {
  std::vector<Ref<BatchRows>> rows;
  for (const std::vector<Ref<Batch>>& plan : iteration) {
    Ref<BatchRows>& of_plan = rows.emplace_back();
    for (const Ref<Batch>& batch : plan) {
      if (!of_plan) of_plan = batch->rows;
    }
  }
  return rows;
}

}  // namespace

PackedIterations take_packed(Executor& executor, int depth, int count, const std::vector<uint8_t*>& buffers,
                             const std::vector<PackedOutput>& outputs) {
  PackedIterations packed;
  try {
    for (int number = 0; number < count; ++number) {
      keep_under_way(executor, depth);
      IterationOutputs iteration = executor.take();
      if (!fit(iteration, outputs)) {
        packed.last = std::move(iteration);
        break;
      }
      for (size_t plan = 0; plan < iteration.size(); ++plan) {
        for (size_t i = 0; i < outputs.size(); ++i) {
          uint8_t* buffer = buffers[plan] + outputs[i].offset;
          iteration[plan][i]->copy_to(buffer + static_cast<size_t>(number) * outputs[i].bytes());
        }
      }
      packed.rows.push_back(rows_of(iteration));
    }
  } catch (...) {
    packed.error = std::current_exception();
  }
  return packed;
}

}  // namespace headrace
