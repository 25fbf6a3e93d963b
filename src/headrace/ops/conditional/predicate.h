// Predicate: the argument that decides a branch. Any number; it is true if it isn't zero (NaN is true).
#pragma once

#include "graph/arg.h"

namespace headrace {

class Predicate {
 public:
  explicit Predicate(const OpSpec& spec) : value_(spec, "predicate"), index_(spec.tensor_index("predicate")) {}

  bool operator()(const SampleContext& ctx) const {
    if (index_ >= 0) {
      const Sample& sample = ctx.argument(index_);
      check(sample.shape.ndim() == 0,
            "the condition of an `if` must be a scalar (no axes), got a sample of shape {}; reduce it first",
            sample.shape);
    }
    return value_(ctx) != 0;
  }

  static void add_arg(Schema& schema) {
    schema.required_arg("predicate", ArgType::kFloat, "Scalar of any numeric type: true unless it is zero.",
                        PerSample::kAllowed);
  }

 private:
  Arg<double> value_;
  int index_;
};

}  // namespace headrace
