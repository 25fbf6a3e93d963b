// Highway's targets that vector code of ours is not compiled for. To be included before hwy/foreach_target.h.
#pragma once

// SSSE3 and AVX3_DL: our loops are as quick for the target below, and the compiler's time counts. SVE and RVV: their
// vectors have no size at compile time, so they can't be members or lie in arrays; NEON stands in for SVE.
#define HEADRACE_SKIPPED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
