// Errors: whatever is thrown becomes an Error that says what it was.
#include "core/error.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace headrace {
namespace {

struct Foreign {};

template <typename Thrown> Error caught(const Thrown& thrown) {
  try {
    throw thrown;
  } catch (...) {
    return current_error();
  }
}

TEST(CurrentError, KeepsKindAndMessage) {
  const Error error = caught(Error(ErrorKind::kIndex, "axis"));
  EXPECT_EQ(error.kind(), ErrorKind::kIndex);
  EXPECT_EQ(error.message(), "axis");
}

TEST(CurrentError, TakesWhatTheStandardLibraryThrows) {
  EXPECT_EQ(caught(std::bad_alloc()).kind(), ErrorKind::kMemory);
  const Error error = caught(std::out_of_range("beyond"));
  EXPECT_EQ(error.kind(), ErrorKind::kRuntime);
  EXPECT_EQ(error.message(), "beyond");
}

TEST(CurrentError, NamesTheTypeOfAnythingElse) {
  EXPECT_EQ(caught(7).message(), "an exception of type int was thrown");
  EXPECT_EQ(caught(Foreign()).message(), "an exception of type headrace::(anonymous namespace)::Foreign was thrown");
}

}  // namespace
}  // namespace headrace
