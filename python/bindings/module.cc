// headrace._core: the engine, for the Python package. Everything here is private to it.
#include "bindings.h"
#include "codecs/image_codec.h"
#include "core/log.h"
#include "gil.h"
#include "kernels/targets.h"

#ifndef HEADRACE_VERSION
#define HEADRACE_VERSION "0"
#endif

namespace headrace::python {

Registry& registry() {
  static Registry* const all = [] {
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

nb::list image_formats() {
  nb::list names;
  for (int i = 1; i < kImageFormats; ++i) {
    const auto format = static_cast<ImageFormat>(i);
    if (image_format_built(format)) names.append(nb::cast(image_format_name(format)));
  }
  return names;
}

nb::dict build_info() {
  nb::list simd;
  for (const std::string& target : simd_targets()) simd.append(nb::cast(target));
  nb::dict info;
  info["version"] = HEADRACE_VERSION;
#if defined(__clang__)
  info["compiler"] = "clang " __clang_version__;
#else
  info["compiler"] = "gcc " __VERSION__;
#endif
  info["simd"] = simd;
  info["image_formats"] = image_formats();
  info["cuda"] = false;
  info["operators"] = registry().schemas().size();
  return info;
}

// To the package's logger. Messages come on threads of the program that wait for the engine, with the GIL or without.
void log_to_python(LogLevel level, std::string_view message) {
  const WithGil gil;
  try {
    const nb::object logger = nb::module_::import_("logging").attr("getLogger")("headrace");
    logger.attr(level == LogLevel::kWarning ? "warning" : "info")("%s", nb::str(message.data(), message.size()));
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("headrace: writing to the log");
  }
}

}  // namespace
}  // namespace headrace::python

NB_MODULE(_core, m) {
  using namespace headrace::python;
  // Batches are held by arrays of other libraries until the interpreter has ended; that is no leak.
  nb::set_leak_warnings(false);
  headrace::set_log_sink(log_to_python);
  bind_errors(m);
  bind_schema(m);
  bind_graph(m);
  bind_tensor(m);
  bind_batch(m);
  bind_executor(m);
  bind_records(m);
  bind_callbacks(m);
  bind_plugins(m);
  m.def("build_info", &build_info, "How this module was built: version, compiler, back ends.");
}
