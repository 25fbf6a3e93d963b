// The kernels of the arithmetic functions, by family.
#pragma once

#include "kernels/cpu/tile_kernel.h"
#include "ops/math/arithmetic/function.h"

namespace headrace {

// The kernels of each family for operands of type `type`; null if the family has none for the function or the type.
// Types of equal width share a kernel where their bits come out the same: wrapping arithmetic of signed integers is
// asked for as unsigned.
TileKernel wrapping_kernel(Function function, DType type);  // add sub mul neg abs: u8..u64, f32, f64; abs i8..i64 too
TileKernel division_kernel(Function function, DType type);  // floordiv mod truediv: integers, f32, f64
TileKernel power_kernel(Function function, DType type);     // pow: integers, f32, f64; fpow atan2: f32, f64
TileKernel order_kernel(Function function, DType type);     // min max clamp: integers, f32, f64
TileKernel bitwise_kernel(Function function, DType type);   // and or xor shifts invert: integers, bool
TileKernel unary_kernel(Function function, DType type);     // f32, f64
// The result is bool. Both types are equal, or one is u64 and the other i64.
TileKernel comparison_kernel(Function function, DType left, DType right);

}  // namespace headrace
