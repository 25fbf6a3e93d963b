// Plugin loader: opens a shared library with operators that was built outside of headrace, and registers them.
#pragma once

#include <string>
#include <vector>

#include "graph/registry.h"

namespace headrace {

// Loads the library at `path`, which is a file, not a name to search for, and adds its operators to `registry`: all of
// them, or none if anything is wrong (kRuntime, with the reason). Gives their names; none if the library is loaded
// already. It stays in memory till the process ends. `global_symbols`: libraries loaded later see its symbols.
// `reserved`: names that operators must not have.
std::vector<std::string> load_plugin(Registry& registry, const std::string& path, bool global_symbols,
                                     const std::vector<std::string>& reserved);

}  // namespace headrace
