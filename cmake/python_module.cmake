# headrace._core: the nanobind module made of python/bindings/*.cc, next to the package in a development build.

# With another interpreter than the cache's, FindPython fails the first time, and nanobind's folder stays the old one.
if(NOT SKBUILD AND NOT "${HEADRACE_PYTHON}" STREQUAL "${Python_EXECUTABLE}")
  get_cmake_property(cached CACHE_VARIABLES)
  list(FILTER cached INCLUDE REGEX "^(_Python_.*|nanobind_DIR)$")
  foreach(name IN LISTS cached)
    unset(${name} CACHE)
  endforeach()
endif()
set(HEADRACE_PYTHON "${Python_EXECUTABLE}" CACHE INTERNAL "The interpreter that the cache belongs to")

find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(
  COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE nanobind_missing)
if(nanobind_missing)
  message(FATAL_ERROR "${Python_EXECUTABLE} has no nanobind: run tools/bootstrap, or set HEADRACE_BUILD_PYTHON=OFF")
endif()

file(GLOB bindings CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/bindings/*.cc)
if(bindings)
  find_package(nanobind CONFIG REQUIRED)
  nanobind_add_module(_core NB_STATIC NOMINSIZE ${bindings})
  target_include_directories(_core PRIVATE ${PROJECT_SOURCE_DIR}/python/bindings)
  target_link_libraries(_core PRIVATE headrace_ops headrace_exec nlohmann_json::nlohmann_json)
  target_compile_definitions(_core PRIVATE HEADRACE_VERSION="${PROJECT_VERSION}")
  # All of core and graph, also what no operator of ours needs: others may (cmake/public_headers.cmake).
  set_property(TARGET _core PROPERTY LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,headrace_core,headrace_graph")
  target_link_options(_core PRIVATE -Wl,-Bsymbolic-functions -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)
  set_property(TARGET _core APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  if(SKBUILD)
    install(TARGETS _core LIBRARY DESTINATION headrace)
    install(DIRECTORY ${HEADRACE_PUBLIC_HEADERS}/ DESTINATION headrace/include)
  else()
    set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_SOURCE_DIR}/python/headrace)
  endif()
endif()
