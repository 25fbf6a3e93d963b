// Normalising rows of integers of 8 and 16 bits; apart from the other types for the compiler's time.
#include "core/simd_targets.h"
#include "kernels/cpu/normalize_row.h"

#define HWY_DISABLED_TARGETS HEADRACE_SKIPPED_TARGETS
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/normalize_row_narrow.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/normalize_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {

NormalizeRowFn find_narrow_row(DType in, DType out) {
  switch (in) {
    case DType::kUInt8: return for_output<uint8_t>(out);
    case DType::kUInt16: return for_output<uint16_t>(out);
    case DType::kInt16: return for_output<int16_t>(out);
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(find_narrow_row);

NormalizeRowFn find_normalize_narrow_row(DType in, DType out) { return HWY_DYNAMIC_DISPATCH(find_narrow_row)(in, out); }

}  // namespace headrace
#endif
