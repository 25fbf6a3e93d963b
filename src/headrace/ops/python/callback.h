// Callbacks: operators that call a function of the program, which they know by its number.
#pragma once

#include "graph/operator.h"

namespace headrace {

// How functions of the program are called: set by the Python module when it is loaded. The hooks throw Errors only.
struct CallbackHooks {
  // Calls the function and fills in ctx.outputs.
  void (*run)(int64_t function, BatchContext& ctx) = nullptr;
  // BatchOperator::dispatch(); what it leaves in BatchContext::dispatched reaches run().
  void (*dispatch)(int64_t function, std::span<BatchContext> plans) = nullptr;
};
inline CallbackHooks callback_hooks;

// The schema has `function` (the number) and `num_outputs`.
class CallbackOperator : public BatchOperator {
 public:
  CallbackOperator(const OpSpec& spec, Lane lane) : lane_(lane), function_(spec.get_int("function")) {
    check(callback_hooks.run != nullptr, "[{}] this program has no Python functions", spec.schema->name());
    check_value(spec.num_outputs >= 0, "[{}] num_outputs: expected 0 or more, got {}", spec.schema->name(),
                spec.num_outputs);
  }

  Lane lane() const override { return lane_; }
  void run(BatchContext& ctx) const override { callback_hooks.run(function_, ctx); }
  void dispatch(std::span<BatchContext> plans) const override { callback_hooks.dispatch(function_, plans); }

 private:
  const Lane lane_;
  const int64_t function_;
};

}  // namespace headrace
