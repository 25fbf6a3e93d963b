# Rooms: each folder of src/headrace becomes the library headrace_<room> and, with tests, the binary headrace_<room>_test.
set(HEADRACE_SOURCE_ROOT ${PROJECT_SOURCE_DIR}/src/headrace)

if(HEADRACE_BUILD_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
endif()

# headrace_room(name DEPENDS targets... PRIVATE_DEPENDS targets... SOURCES generated files...)
function(headrace_room room)
  cmake_parse_arguments(ROOM "" "" "DEPENDS;PRIVATE_DEPENDS;SOURCES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${HEADRACE_SOURCE_ROOT}/${room}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|tester)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_(test|tester)\\.cc$")
  list(APPEND sources ${ROOM_SOURCES})
  if(sources)
    add_library(headrace_${room} STATIC ${sources})
    target_include_directories(headrace_${room} PUBLIC ${HEADRACE_SOURCE_ROOT})
    target_link_libraries(headrace_${room} PUBLIC ${ROOM_DEPENDS} PRIVATE ${ROOM_PRIVATE_DEPENDS})
    if(room STREQUAL "codecs")
      target_compile_definitions(headrace_codecs PRIVATE ${HEADRACE_CODEC_DEFINITIONS})
    endif()
  else()  # a room with headers only, or with nothing in it yet
    add_library(headrace_${room} INTERFACE)
    target_include_directories(headrace_${room} INTERFACE ${HEADRACE_SOURCE_ROOT})
    target_link_libraries(headrace_${room} INTERFACE ${ROOM_DEPENDS})
  endif()
  if(HEADRACE_BUILD_TESTS AND tests)
    headrace_room_test(${room} "${tests}" "${ROOM_PRIVATE_DEPENDS}")
  endif()
endfunction()

# One test binary per room: linking is a good part of the time that a test file costs.
function(headrace_room_test room tests libraries)
  add_executable(headrace_${room}_test ${tests})
  target_link_libraries(headrace_${room}_test PRIVATE headrace_${room} ${libraries} GTest::gmock GTest::gtest_main)
  target_compile_options(headrace_${room}_test PRIVATE -O1)  # the compiler's time matters here, the tests' doesn't
  # Only where they are used: a path in every command line would keep ccache from sharing between checkouts.
  foreach(test ${tests})
    file(STRINGS ${test} uses REGEX "HEADRACE_TEST_DATA|HEADRACE_HAVE_")
    if(uses)
      set_property(SOURCE ${test} APPEND PROPERTY COMPILE_DEFINITIONS
        HEADRACE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data" ${HEADRACE_CODEC_DEFINITIONS})
    endif()
  endforeach()
  add_test(NAME headrace_${room}_test COMMAND headrace_${room}_test)
  set_tests_properties(headrace_${room}_test PROPERTIES TIMEOUT 300)
endfunction()
