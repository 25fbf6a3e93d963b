// Which loop normalises a row, by its types.
#include "kernels/cpu/normalize_row.h"
#include "core/simd_targets.h"

#define HWY_DISABLED_TARGETS HEADRACE_SKIPPED_TARGETS
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/normalize_row.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/normalize_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {

NormalizeRowFn find_wide_row(DType in, DType out) {
  switch (in) {
    case DType::kInt32: return for_output<int32_t>(out);
    case DType::kFloat16: return for_output<Float16>(out);
    case DType::kFloat32: return for_output<float>(out);
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(find_wide_row);

NormalizeRowFn find_normalize_narrow_row(DType in, DType out);  // normalize_row_narrow.cc

NormalizeRowFn find_normalize_row(DType in, DType out) {
  const NormalizeRowFn narrow = find_normalize_narrow_row(in, out);
  return narrow ? narrow : HWY_DYNAMIC_DISPATCH(find_wide_row)(in, out);
}

}  // namespace headrace
#endif
