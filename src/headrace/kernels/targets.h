// The instruction sets that the kernels choose from at run time.
#pragma once

#include <string>
#include <vector>

namespace headrace {

// Their names on this machine, best first.
std::vector<std::string> simd_targets();

}  // namespace headrace
