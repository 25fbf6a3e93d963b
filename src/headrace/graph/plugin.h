// Plugin: what a shared library with operators of its own carries, so that the engine can check and register it.
//
//   HEADRACE_PLUGIN(registry) { registry.add<Scale>(Schema("my.scale").input("data")); }
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "graph/abi.h"
#include "graph/registry.h"

namespace headrace {

// Note [plugin stamp]: classes cross the border between engine and library, so both must be compiled from the same
// declarations, with the same C++ library and fmt. The stamp says which; load_plugin() finds it by its first bytes in
// the library's file, and compares it before any code of the library runs. Its first member and its size never change.
struct PluginStamp {
  std::array<char, 16> magic{};
  std::array<char, 24> version{};  // of headrace, for messages
  std::array<char, 24> headers{};  // hash of the declarations in the public headers
  std::array<char, 32> library{};  // the C++ library
  int32_t fmt = 0;                 // major version
  int32_t reserved = 0;
};
static_assert(sizeof(PluginStamp) == 104);

template <size_t N> constexpr std::array<char, N> stamp_text(std::string_view text) {
  std::array<char, N> padded{};
  text.copy(padded.data(), N - 1);
  return padded;
}

// The stamp of whatever includes this header.
constexpr PluginStamp plugin_stamp() {
#if defined(_LIBCPP_VERSION)
  constexpr std::string_view kLibrary = "libc++";
#elif defined(_GLIBCXX_DEBUG)
  constexpr std::string_view kLibrary = "libstdc++ in debug mode";
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
  constexpr std::string_view kLibrary = "libstdc++ before C++11";
#else
  constexpr std::string_view kLibrary = "libstdc++";
#endif
  return {.magic = {'\x7f', 'h', 'e', 'a', 'd', 'r', 'a', 'c', 'e', '\x01', 'p', 'l', 'u', 'g', 'i', 'n'},
          .version = stamp_text<24>(HEADRACE_ABI_VERSION),
          .headers = stamp_text<24>(HEADRACE_ABI_HEADERS),
          .library = stamp_text<32>(kLibrary),
          .fmt = FMT_VERSION / 10000};
}

// The name of the function that HEADRACE_PLUGIN defines.
inline constexpr const char* kPluginEntry = "headrace_register_plugin";

}  // namespace headrace

// The body that follows adds the library's operators to `registry`; it runs once, when the library is loaded. Either
// all of them are registered or, if it throws or a name is taken, none.
#define HEADRACE_PLUGIN(registry)                                                                                \
  extern "C" {                                                                                                   \
  __attribute__((visibility("default"))) extern const headrace::PluginStamp headrace_plugin_stamp;               \
  constinit const headrace::PluginStamp headrace_plugin_stamp = headrace::plugin_stamp();                        \
  __attribute__((visibility("default"))) void headrace_register_plugin(headrace::Registry& registry); /*NOLINT*/ \
  }                                                                                                              \
  void headrace_register_plugin(headrace::Registry& registry) /*NOLINT*/
