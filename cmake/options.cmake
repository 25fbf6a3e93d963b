# Options, the language level and the flags that every target gets.
option(HEADRACE_BUILD_PYTHON "Build the Python module headrace._core" ON)
option(HEADRACE_BUILD_TESTS "Build the native tests (GoogleTest)" OFF)
option(HEADRACE_BUILD_FUZZ "Build the fuzz targets of tests/fuzz (Clang only)" OFF)
option(HEADRACE_WERROR "Make warnings errors (with the compilers that CI runs)" OFF)
set(HEADRACE_SANITIZE "" CACHE STRING "Sanitizers for everything, for example address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(HEADRACE_OPTIMIZE "-O2 -DNDEBUG" CACHE STRING "Optimization flags")
set(CMAKE_CXX_FLAGS_RELEASE ${HEADRACE_OPTIMIZE})

# Each compilation leaves its processor time beside its object, for tools/compile_times.py. With ccache paths are
# relative to the checkout, so that several checkouts share one cache. The name is one that Clang's tools look through.
find_program(HEADRACE_CCACHE ccache)
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(ccache "")
  if(HEADRACE_CCACHE)
    set(ccache "CCACHE_BASEDIR='${PROJECT_SOURCE_DIR}' CCACHE_NOHASHDIR=1 '${HEADRACE_CCACHE}' ")
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/ccache @ONLY CONTENT "#!/bin/sh
@ccache@\"$@\" || exit
while [ $# -gt 1 ] && [ \"$1\" != -o ]; do shift; done
times >\"$2.times\"
")
  file(CHMOD ${PROJECT_BINARY_DIR}/ccache PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ WORLD_READ)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_BINARY_DIR}/ccache)
endif()

# Without contraction results are equal on every target (docs/design.md, "Arithmetic").
add_compile_options(-ffp-contract=off -Wall -Wextra)

# Nobody reads errno or the floating-point flags after arithmetic; giving them up lets sqrt, floor and selections
# vectorise, with the same results. GCC's -O2 alone vectorises only loops whose length is known (Clang's all).
add_compile_options(-fno-math-errno -fno-trapping-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-ftree-vectorize -fvect-cost-model=dynamic)
endif()

# A compiler newer than CI's may know warnings that nobody has seen; there they stay warnings.
if(HEADRACE_WERROR AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Werror)
endif()

if(HEADRACE_SANITIZE)
  add_compile_options(-fsanitize=${HEADRACE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${HEADRACE_SANITIZE})
endif()
