// Type promotion: from a function and the types of its operands to the result's type and the kernel that computes it.
#pragma once

#include <span>

#include "kernels/cpu/broadcast.h"
#include "ops/math/arithmetic/kernels.h"

namespace headrace {

struct Evaluation {
  TileKernel kernel = nullptr;
  DType operand_types[kMaxOperands] = {};  // what the kernel takes; operands are converted to them
  DType result = DType::kNone;
};

// The type in which two operands meet: the wider one, a signed one with room for both if one is signed (int64 with
// uint64 is int64), float32 for integers with float32, float64 with anything. bool is narrower than all.
DType promote(DType a, DType b);

// A kRuntime error if the function doesn't take such types.
Evaluation evaluate_as(const FunctionInfo& function, std::span<const DType> operands);

}  // namespace headrace
