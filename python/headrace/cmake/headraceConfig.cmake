# find_package(headrace): the target headrace::headrace, for libraries with operators of their own.
#
#   find_package(headrace REQUIRED HINTS <what `python -m headrace.sysconfig --cmake-dir` prints>)
#   add_library(my_operators MODULE my_operators.cc)
#   target_link_libraries(my_operators PRIVATE headrace::headrace)
#
# The engine's functions are not linked: the library finds them in the process that loads it.
include(CMakeFindDependencyMacro)
find_dependency(fmt)

if(NOT TARGET headrace::headrace)
  get_filename_component(headrace_INCLUDE_DIR ${CMAKE_CURRENT_LIST_DIR}/../include ABSOLUTE)
  add_library(headrace::headrace INTERFACE IMPORTED)
  target_include_directories(headrace::headrace INTERFACE ${headrace_INCLUDE_DIR})
  target_compile_features(headrace::headrace INTERFACE cxx_std_20)
  target_compile_options(headrace::headrace INTERFACE -ffp-contract=off)  # equal results on every machine
  target_link_libraries(headrace::headrace INTERFACE fmt::fmt)
endif()
