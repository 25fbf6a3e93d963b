// Element types: sizes, names and dispatch agree with the C++ types they stand for.
#include "core/dtype.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

namespace headrace {
namespace {

// Numbers and names as DALI 2.4 prints them for its DALIDataType.
struct Row {
  DType dtype;
  int number;
  size_t size;
  const char* name;
};
const Row kRows[] = {
    {DType::kUInt8, 0, 1, "uint8"},        {DType::kUInt16, 1, 2, "uint16"},   {DType::kUInt32, 2, 4, "uint32"},
    {DType::kUInt64, 3, 8, "uint64"},      {DType::kInt8, 4, 1, "int8"},       {DType::kInt16, 5, 2, "int16"},
    {DType::kInt32, 6, 4, "int32"},        {DType::kInt64, 7, 8, "int64"},     {DType::kFloat16, 8, 2, "float16"},
    {DType::kFloat32, 9, 4, "float"},      {DType::kFloat64, 10, 8, "double"}, {DType::kBool, 11, 1, "bool"},
    {DType::kBFloat16, 28, 2, "bfloat16"},
};

TEST(DType, NumbersSizesAndNames) {
  for (const Row& row : kRows) {
    EXPECT_EQ(static_cast<int>(row.dtype), row.number) << row.name;
    EXPECT_EQ(dtype_size(row.dtype), row.size) << row.name;
    EXPECT_EQ(dtype_name(row.dtype), row.name);
  }
  EXPECT_EQ(dtype_size(DType::kNone), 0u);
}

TEST(DType, VisitCallsTheOneTypeOfThatDtype) {
  for (const Row& row : kRows) {
    int calls = 0;
    visit_dtype(row.dtype, AllTypes{}, "[test] input", [&]<typename T>() {
      ++calls;
      EXPECT_EQ(sizeof(T), row.size) << row.name;
      EXPECT_EQ(dtype_of<T>, row.dtype) << row.name;
      EXPECT_EQ((std::is_integral_v<T> && !std::is_same_v<T, bool>), is_integer(row.dtype)) << row.name;
    });
    EXPECT_EQ(calls, 1) << row.name;
  }
}

TEST(DType, VisitNamesTheUnsupportedType) {
  try {
    visit_dtype(DType::kFloat32, IntegerTypes{}, "[one_hot] input", []<typename T>() { FAIL(); });
    FAIL() << "float is not in the list";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), testing::AllOf(testing::HasSubstr("[one_hot] input"), testing::HasSubstr("float")));
  }
}

}  // namespace
}  // namespace headrace
