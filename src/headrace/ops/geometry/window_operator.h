// What crop and slice share: type of the output, policy and fill values; each brings its own window.
#pragma once

#include <optional>
#include <vector>

#include "ops/geometry/window_copy.h"

namespace headrace {

class SampleContext;

class WindowOperator {
 public:
  explicit WindowOperator(const OpSpec& spec);

  // Adds dtype, out_of_bounds_policy, fill_values and their deprecated kin to a schema.
  static void declare(Schema& schema);

  // Applies the policy to the window of input 0, keeps it as the plan, and describes output 0.
  void infer(SampleContext& ctx, Window window) const;
  // The part of input 0 behind the part `needed` of the output; see SampleOperator::input_region.
  std::optional<Region> input_region(const SampleContext& ctx, int i, const Region& needed) const;
  // Writes output 0, or the region of it that is asked for.
  void run(SampleContext& ctx) const;

 private:
  std::string name_;
  bool has_dtype_;
  DType dtype_ = DType::kNone;
  BoundsPolicy policy_;
  std::vector<float> fill_;
};

}  // namespace headrace
