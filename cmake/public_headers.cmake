# The public headers: what op.h includes, as a library built outside of headrace sees it: <headrace/op.h>.
#
# They are written when one of them changes, into python/headrace/include of a development build or into the wheel. The
# hash of their declarations is what such a library is checked by (graph/plugin.h, Note [plugin stamp]).
file(GLOB public_sources CONFIGURE_DEPENDS
  ${HEADRACE_SOURCE_ROOT}/op.h ${HEADRACE_SOURCE_ROOT}/core/*.h ${HEADRACE_SOURCE_ROOT}/graph/*.h)
if(SKBUILD)
  set(HEADRACE_PUBLIC_HEADERS ${PROJECT_BINARY_DIR}/include)
else()
  set(HEADRACE_PUBLIC_HEADERS ${PROJECT_SOURCE_DIR}/python/headrace/include)
endif()
set(generated ${PROJECT_BINARY_DIR}/generated)
add_custom_command(
  OUTPUT ${generated}/graph/abi.h ${HEADRACE_PUBLIC_HEADERS}/headrace/op.h
  COMMAND ${CMAKE_COMMAND} -DSOURCES=${HEADRACE_SOURCE_ROOT} -DGENERATED=${generated}
    -DTARGET=${HEADRACE_PUBLIC_HEADERS} -DVERSION=${PROJECT_VERSION}
    -P ${PROJECT_SOURCE_DIR}/cmake/write_public_headers.cmake
  DEPENDS ${public_sources} ${PROJECT_SOURCE_DIR}/cmake/write_public_headers.cmake
  COMMENT "Writing the public headers" VERBATIM)
target_sources(headrace_graph PRIVATE ${generated}/graph/abi.h)
target_include_directories(headrace_graph PRIVATE ${generated})

# Those libraries use what core and graph define, so that is what headrace._core shows (cmake/exports.map). Calls from
# within stay direct: nobody puts a definition of his own in the place of ours.
foreach(room core graph)
  set_target_properties(headrace_${room} PROPERTIES CXX_VISIBILITY_PRESET default)
  target_compile_options(headrace_${room} PRIVATE -fno-semantic-interposition)
endforeach()
