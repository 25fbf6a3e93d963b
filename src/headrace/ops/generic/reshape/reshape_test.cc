// reshape, reinterpret: shapes and layouts; the bytes must stay (OpTester checks that they can).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_tester.h"

namespace headrace {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;

struct Row {
  const char* op;
  ArgMap args;
  Shape shape;
  const char* layout;
};

TestTensor input() { return TestTensor::of<int16_t>({2, 3}, {10, 12, 14, 16, 18, 20}, "HW"); }

TEST(Reshape, ShapesAndLayouts) {
  const auto dtype = [](DType t) { return ArgValue(static_cast<int64_t>(t)); };
  const Row rows[] = {
      {"reshape", {{"shape", Ints{3, 2}}}, {3, 2}, "HW"},
      {"reshape", {{"shape", Ints{-1}}}, {6}, ""},
      {"reshape", {{"shape", 6}}, {6}, ""},
      {"reshape", {{"shape", Ints{3, -1}}, {"layout", "AB"}}, {3, 2}, "AB"},
      {"reshape", {{"shape", Ints{2, 3, 1}}}, {2, 3, 1}, ""},
      {"reshape", {{"rel_shape", Floats{0.5, 2}}}, {1, 6}, "HW"},
      {"reshape", {{"rel_shape", Floats{1.5, -1}}}, {3, 2}, "HW"},
      {"reshape", {{"rel_shape", Floats{1, -1}}, {"src_dims", Ints{-1, 0}}}, {1, 6}, "HW"},
      {"reshape", {{"layout", ""}}, {2, 3}, ""},
      {"reshape", {{"src_dims", Ints{1, 0}}}, {3, 2}, "HW"},
      {"reshape", {{"src_dims", Ints{0, -1, 1}}}, {2, 1, 3}, ""},
      {"reinterpret", {{"dtype", dtype(DType::kUInt8)}}, {2, 6}, "HW"},
      {"reinterpret", {{"dtype", dtype(DType::kInt32)}, {"shape", Ints{-1}}}, {3}, ""},
      {"reinterpret", {{"dtype", dtype(DType::kInt32)}, {"rel_shape", Floats{0.5, -1}}}, {1, 3}, "HW"},
      {"reinterpret", {{"dtype", dtype(DType::kUInt8)}, {"src_dims", Ints{1, 0}}}, {3, 4}, "HW"},
  };
  for (const Row& row : rows) {
    const TestTensor out = OpTester(row.op, row.args).run({input()})[0];
    EXPECT_EQ(out.shape, row.shape) << to_string(row.shape);
    EXPECT_EQ(out.layout.str(), row.layout) << to_string(row.shape);
    EXPECT_EQ(out.bytes, input().bytes);
  }
}

TEST(Reshape, ShapeFromAnInputAndFromATensorArgument) {
  EXPECT_EQ(OpTester("reshape", {}, {}, 2).run({input(), TestTensor::of<int32_t>({2}, {1, 6})})[0].shape,
            Shape({1, 6}));
  EXPECT_EQ(OpTester("reshape", {}, {"shape"}).run({input()}, {TestTensor::of<int64_t>({2}, {3, -1})})[0].shape,
            Shape({3, 2}));
}

TEST(Reshape, RefusesWhatDoesNotFit) {
  EXPECT_THROW(OpTester("reshape", {}), Error);  // nothing to do
  EXPECT_THROW(OpTester("reshape", {{"shape", 6}, {"rel_shape", 1.0}}), Error);
  const ArgMap bad[] = {{{"shape", Ints{4, 2}}},         {{"shape", Ints{-1, -1}}}, {{"shape", Ints{0, 6}}},
                        {{"shape", Ints{0, -1}}},        {{"layout", "C"}},         {{"src_dims", Ints{2, 0}}},
                        {{"rel_shape", Floats{1, 1, 1}}}};
  for (const ArgMap& args : bad) {
    EXPECT_THROW(OpTester("reshape", args).run({input()}), Error) << to_string(args.begin()->second);
  }
  OpTester to_int("reinterpret", {{"dtype", static_cast<int64_t>(DType::kInt32)}});
  EXPECT_THROW(to_int.run({input()}), Error);  // rows of 6 bytes
}

}  // namespace
}  // namespace headrace
