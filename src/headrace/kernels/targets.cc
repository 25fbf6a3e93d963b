// Highway's run-time dispatch, by names.
#include "kernels/targets.h"

#include <hwy/targets.h>

namespace headrace {

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    names.emplace_back(hwy::TargetName(left & -left));
  }
  return names;
}

}  // namespace headrace
