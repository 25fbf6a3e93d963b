// headrace._core: the engine, for the Python package. Everything here is private to it.
#include <cstdlib>

#include "bindings.h"

#ifndef HEADRACE_VERSION
#define HEADRACE_VERSION "0"
#endif

namespace headrace::python {

const Registry& registry() {
  static const Registry* const all = [] {
    auto* made = new Registry;
    register_all_ops(*made);
    return made;
  }();
  return *all;
}

const Ref<HostPool>& import_pool() {
  static const auto* const pool = new Ref<HostPool>(make_ref<HostPool>());
  return *pool;
}

namespace {

nb::dict build_info() {
  nb::dict info;
  info["version"] = HEADRACE_VERSION;
#if defined(__clang__)
  info["compiler"] = "clang " __clang_version__;
#else
  info["compiler"] = "gcc " __VERSION__;
#endif
  info["cuda"] = false;
  info["operators"] = registry().entries().size();
  return info;
}

}  // namespace
}  // namespace headrace::python

NB_MODULE(_core, m) {
  using namespace headrace::python;
  // Batches are held by arrays of other libraries until the interpreter has ended; that is no leak.
  nb::set_leak_warnings(false);
  bind_errors(m);
  bind_schema(m);
  bind_graph(m);
  bind_tensor(m);
  bind_batch(m);
  bind_executor(m);
  bind_records(m);
  m.def("build_info", &build_info, "How this module was built: version, compiler, back ends.");
}
