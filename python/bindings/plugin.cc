// Libraries with operators that were built outside of headrace.
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "gil.h"
#include "graph/plugin_loader.h"

namespace headrace::python {

void bind_plugins(nb::module_& m) {
  m.def(
      "load_plugin",
      [](const std::string& path, bool global_symbols, const std::vector<std::string>& reserved) {
        const WithoutGil release;
        return load_plugin(registry(), path, global_symbols, reserved);
      },
      nb::arg("path"), nb::arg("global_symbols"), nb::arg("reserved"),
      "Loads a library with operators and returns their names; none of those if it is loaded already.");
}

}  // namespace headrace::python
