// _arithmetic_generic_op by examples: constants, errors, division, unary and mathematical functions, layouts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/op_tester.h"

namespace headrace {
namespace {

using testing::ElementsAre;

OpTester arithmetic(const std::string& function, int inputs, ArgMap constants = {}) {
  constants["function"] = function;
  return OpTester("_arithmetic_generic_op", constants, {}, inputs);
}

TEST(Arithmetic, RefusesShapesThatDontFit) {
  const auto zeros = [](const Shape& shape) {
    return TestTensor::of(shape, std::vector<float>(static_cast<size_t>(shape.volume())));
  };
  OpTester add = arithmetic("add", 2);
  EXPECT_THROW(add.run({zeros({2, 3}), zeros({4})}), Error);
  EXPECT_THROW(add.run({zeros({0}), zeros({3})}), Error);
  EXPECT_THROW(add.run({zeros({2, 1, 3, 1, 2, 1, 3}), zeros({2, 3, 1, 2, 1, 3, 1})}), Error);
  EXPECT_NO_THROW(add.run({zeros({1, 3, 1, 2, 1, 3}), zeros({3, 1, 2, 1, 3, 1})}));
}

ArgMap constant(int64_t position, DType type, double value) {
  ArgMap map{{"constant_positions", std::vector<int64_t>{position}},
             {"constant_types", std::vector<int64_t>{static_cast<int64_t>(type)}}};
  if (is_floating(type))
    map["float_constants"] = std::vector<double>{value};
  else
    map["integer_constants"] = std::vector<int64_t>{static_cast<int64_t>(value)};
  return map;
}

TEST(Arithmetic, ConstantOperands) {
  const TestTensor a = TestTensor::of<uint8_t>({3}, {7, 200, 255});
  EXPECT_THAT(arithmetic("add", 1, constant(1, DType::kInt32, 1)).run({a})[0].values<int32_t>(),
              ElementsAre(8, 201, 256));
  EXPECT_THAT(arithmetic("sub", 1, constant(0, DType::kInt32, 1)).run({a})[0].values<int32_t>(),
              ElementsAre(-6, -199, -254));
  EXPECT_THAT(arithmetic("mul", 1, constant(1, DType::kFloat32, 2.5)).run({a})[0].values<float>(),
              ElementsAre(17.5f, 500, 637.5f));
  EXPECT_THAT(arithmetic("mul", 1, constant(1, DType::kBool, 1)).run({a})[0].values<uint8_t>(),
              ElementsAre(7, 200, 255));
  const TestTensor d = TestTensor::of<double>({1}, {1.0});
  EXPECT_THAT(arithmetic("mul", 1, constant(1, DType::kFloat32, 1.1)).run({d})[0].values<double>(),
              ElementsAre(static_cast<double>(1.1f)));
  ArgMap clamp{{"constant_positions", std::vector<int64_t>{1, 2}},
               {"constant_types",
                std::vector<int64_t>{static_cast<int64_t>(DType::kUInt8), static_cast<int64_t>(DType::kFloat32)}},
               {"integer_constants", std::vector<int64_t>{10}},
               {"float_constants", std::vector<double>{210.5}}};
  EXPECT_THAT(arithmetic("clamp", 1, clamp).run({a})[0].values<float>(), ElementsAre(10, 200, 210.5f));
}

TEST(Arithmetic, RefusesBadConstants) {
  const auto kind_of = [](auto&& f) {
    try {
      f();
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::kInternal;
  };
  EXPECT_EQ(kind_of([] { arithmetic("add", 1, constant(1, DType::kInt32, 3e9)); }), ErrorKind::kOverflow);
  EXPECT_EQ(kind_of([] { arithmetic("add", 1, constant(1, DType::kUInt8, -1)); }), ErrorKind::kOverflow);
  EXPECT_EQ(kind_of([] { arithmetic("add", 1, constant(2, DType::kInt32, 1)); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { arithmetic("add", 1, constant(1, DType::kFloat16, 1)); }), ErrorKind::kRuntime);
  EXPECT_EQ(kind_of([] { arithmetic("add", 1); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { arithmetic("plus", 2); }), ErrorKind::kValue);
}

TEST(Arithmetic, DividesIntegersOrSaysWhyNot) {
  const TestTensor least = TestTensor::of<int32_t>({2}, {INT32_MIN, 7});
  const TestTensor divisors = TestTensor::of<int32_t>({2}, {-1, -2});
  EXPECT_THAT(arithmetic("floordiv", 2).run({least, divisors})[0].values<int32_t>(), ElementsAre(INT32_MIN, -3));
  EXPECT_THAT(arithmetic("mod", 2).run({least, divisors})[0].values<int32_t>(), ElementsAre(0, 1));
  for (const char* f : {"floordiv", "mod"}) {
    try {
      arithmetic(f, 2).run({least, TestTensor::of<int8_t>({2}, {1, 0})});
      ADD_FAILURE() << f;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kValue);
    }
  }
}

TEST(Arithmetic, Squares) {
  const TestTensor i16 = TestTensor::of<int16_t>({3}, {-3, 300, 181}), two = TestTensor::of<int16_t>({1}, {2});
  EXPECT_THAT(arithmetic("pow", 2).run({i16, two})[0].values<int16_t>(), ElementsAre(9, 24464, 32761));
  const TestTensor f32 = TestTensor::of<float>({2}, {-1.5f, 3}), exponents = TestTensor::of<float>({2}, {2, 3});
  EXPECT_THAT(arithmetic("pow", 2).run({f32, two})[0].values<float>(), ElementsAre(2.25f, 9));
  EXPECT_THAT(arithmetic("pow", 2).run({f32, exponents})[0].values<float>(), ElementsAre(2.25f, 27));
}

TEST(Arithmetic, NaNFollowsTheOrderOfOperands) {
  const float nan = std::nanf("");
  const TestTensor a = TestTensor::of<float>({2}, {nan, 1}), b = TestTensor::of<float>({2}, {1, nan});
  for (const char* f : {"min", "max"}) {
    const auto out = arithmetic(f, 2).run({a, b})[0].values<float>();
    EXPECT_EQ(out[0], 1);
    EXPECT_TRUE(std::isnan(out[1]));
  }
}

TEST(Arithmetic, UnaryFunctions) {
  const TestTensor i8 = TestTensor::of<int8_t>({4}, {-128, -1, 0, 100});
  EXPECT_THAT(arithmetic("abs", 1).run({i8})[0].values<int8_t>(), ElementsAre(-128, 1, 0, 100));
  EXPECT_THAT(arithmetic("neg", 1).run({i8})[0].values<int8_t>(), ElementsAre(-128, 1, 0, -100));
  EXPECT_THAT(arithmetic("invert", 1).run({i8})[0].values<int8_t>(), ElementsAre(127, 0, -1, -101));
  EXPECT_THAT(arithmetic("invert", 1).run({TestTensor::of<bool>({2}, {true, false})})[0].values<bool>(),
              ElementsAre(false, true));
  EXPECT_THAT(arithmetic("neg", 1).run({TestTensor::of<uint8_t>({2}, {1, 0})})[0].values<uint8_t>(),
              ElementsAre(255, 0));
  EXPECT_THAT(arithmetic("floor", 1).run({i8})[0].values<float>(), ElementsAre(-128, -1, 0, 100));
  EXPECT_THAT(arithmetic("rsqrt", 1).run({TestTensor::of<double>({2}, {4, 0})})[0].values<double>(),
              ElementsAre(0.5, INFINITY));
  for (const char* f : {"neg", "abs", "sin"}) {
    EXPECT_THROW(arithmetic(f, 1).run({TestTensor::of<bool>({1}, {true})}), Error);
  }
  EXPECT_THROW(arithmetic("abs", 1).run({TestTensor::of<Float16>({1}, {Float16(1.0f)})}), Error);
}

TEST(Arithmetic, MathFunctionsAreThoseOfTheirNames) {
  using F = double (*)(double);
  const std::pair<const char*, F> functions[] = {
      {"fabs", std::fabs},  {"floor", std::floor}, {"ceil", std::ceil}, {"sqrt", std::sqrt},   {"cbrt", std::cbrt},
      {"exp", std::exp},    {"log", std::log},     {"log2", std::log2}, {"log10", std::log10}, {"sin", std::sin},
      {"cos", std::cos},    {"tan", std::tan},     {"asin", std::asin}, {"acos", std::acos},   {"atan", std::atan},
      {"sinh", std::sinh},  {"cosh", std::cosh},   {"tanh", std::tanh}, {"asinh", std::asinh}, {"acosh", std::acosh},
      {"atanh", std::atanh}};
  const TestTensor x = TestTensor::of<double>({5}, {0.25, 0.75, 1, 2.5, -0.5});
  const TestTensor narrow = TestTensor::of<float>({5}, {0.25f, 0.75f, 1, 2.5f, -0.5f});
  for (const auto& [name, function] : functions) {
    const auto out = arithmetic(name, 1).run({x})[0].values<double>();
    const auto single = arithmetic(name, 1).run({narrow})[0].values<float>();
    for (size_t i = 0; i < out.size(); ++i) {
      const double want = function(x.values<double>()[i]);
      EXPECT_TRUE(want == out[i] || std::isnan(want)) << name << i;
      EXPECT_TRUE(std::abs(want - single[i]) < 1e-6 || want == single[i] || (std::isnan(want) && std::isnan(single[i])))
          << name << i;
    }
  }
}

TEST(Arithmetic, JoinsLayouts) {
  const auto tensor = [](const Shape& shape, const char* layout) {
    return TestTensor::of(shape, std::vector<float>(static_cast<size_t>(shape.volume())), Layout(layout));
  };
  OpTester add = arithmetic("add", 2);
  EXPECT_EQ(add.run({tensor({2, 3}, "HW"), tensor({3}, "W")})[0].layout, Layout("HW"));
  EXPECT_EQ(add.run({tensor({3}, ""), tensor({2, 3}, "HW")})[0].layout, Layout("HW"));
  EXPECT_EQ(add.run({tensor({2, 3}, "HW"), tensor({4, 2, 3}, "DHW")})[0].layout, Layout("DHW"));
  EXPECT_EQ(add.run({tensor({2, 3}, "HW"), tensor({4, 2, 3}, "")})[0].layout, Layout());
  EXPECT_THROW(add.run({tensor({2, 3}, "HW"), tensor({3}, "H")}), Error);
  EXPECT_THROW(add.run({tensor({2, 3}, "HW"), tensor({2, 3}, "WH")}), Error);
}

}  // namespace
}  // namespace headrace
