# headrace._core: the nanobind module made of python/bindings/*.cc, next to the package in a development build.
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
  if(SKBUILD)
    install(TARGETS _core LIBRARY DESTINATION headrace)
    install(DIRECTORY ${HEADRACE_SOURCE_ROOT}/ DESTINATION headrace/include/headrace FILES_MATCHING PATTERN "*.h")
  else()
    set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_SOURCE_DIR}/python/headrace)
  endif()
endif()
