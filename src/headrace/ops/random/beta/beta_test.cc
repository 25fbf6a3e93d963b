// random.beta: distributions whose distribution function is a formula, moments of the others, errors.
#include <gtest/gtest.h>

#include <limits>

#include "ops/op_tester.h"
#include "ops/random/distribution_testing.h"

namespace headrace {
namespace {

constexpr int64_t kDraws = 50000;

std::vector<double> draw(double alpha, double beta) {
  const ArgMap args = {{"alpha", alpha},
                       {"beta", beta},
                       {"shape", std::vector<int64_t>{kDraws}},
                       {"dtype", static_cast<int64_t>(DType::kFloat64)}};
  return OpTester("random.beta", args).run({})[0].values<double>();
}

TEST(Beta, EqualsKnownDistributionFunctions) {
  EXPECT_LT(ks_distance(draw(1, 1), [](double x) { return x; }), 2);
  EXPECT_LT(ks_distance(draw(3, 1), [](double x) { return x * x * x; }), 2);
  EXPECT_LT(ks_distance(draw(1, 0.2), [](double x) { return 1 - std::pow(1 - x, 0.2); }), 2);
  EXPECT_LT(ks_distance(draw(0.5, 0.5), [](double x) { return 2 / M_PI * std::asin(std::sqrt(x)); }), 2);
  EXPECT_LT(ks_distance(draw(1, 3), [](double x) { return 1 - std::pow(1 - x, 3); }), 2);
  EXPECT_LT(ks_distance(draw(0.1, 1), [](double x) { return std::pow(x, 0.1); }), 2);
  EXPECT_LT(ks_distance(draw(2, 2), [](double x) { return x * x * (3 - 2 * x); }), 2);
  EXPECT_LT(ks_distance(draw(2, 3), [](double x) { return x * x * (6 - 8 * x + 3 * x * x); }), 2);
  EXPECT_LT(ks_distance(draw(3, 2), [](double x) { return x * x * x * (4 - 3 * x); }), 2);
  EXPECT_LT(ks_distance(draw(1.5, 0.5),
                        [](double x) { return 2 / M_PI * (std::asin(std::sqrt(x)) - std::sqrt(x * (1 - x))); }),
            2);
}

TEST(Beta, HasMeanAndVariance) {
  for (const auto& [a, b] :
       {std::pair{0.1, 0.3}, {8.0, 0.5}, {0.4, 2.5}, {1e3, 0.2}, {40.0, 60.0}, {2.0, 300.0}, {1e6, 1e6}}) {
    const std::vector<double> out = draw(a, b);
    double sum = 0, squares = 0;
    for (const double x : out) {
      ASSERT_TRUE(x >= 0 && x <= 1);
      sum += x;
    }
    const double mean = a / (a + b), variance = mean * (1 - mean) / (a + b + 1);
    for (const double x : out) squares += (x - mean) * (x - mean);
    EXPECT_NEAR(sum / kDraws, mean, 5 * std::sqrt(variance / kDraws));
    EXPECT_NEAR(squares / kDraws / variance, 1, 0.05);
  }
}

// Gamma numbers of so small a shape are below the smallest double; their ratio is 0 or 1 mostly, never NaN.
TEST(Beta, TinyParameters) {
  double ones = 0;
  for (const double x : draw(1e-4, 1e-4)) {
    ASSERT_TRUE(x >= 0 && x <= 1);
    ones += x > 0.5;
  }
  EXPECT_NEAR(ones / kDraws, 0.5, 0.02);
  for (const double tiny : {1e-4, 1e-300, std::numeric_limits<double>::denorm_min()}) {
    for (const double x : draw(3, tiny)) ASSERT_TRUE(x >= 0 && x <= 1);
    double sum = 0;
    for (const double x : draw(tiny, 3)) sum += x;
    EXPECT_LT(sum / kDraws, 1e-3);
  }
}

TEST(Beta, HugeParameters) {
  constexpr double kHuge = std::numeric_limits<float>::max();
  for (const double x : draw(kHuge, kHuge / 3)) ASSERT_NEAR(x, 0.75, 1e-12);
  for (const double x : draw(kHuge, 0.5)) ASSERT_EQ(x, 1);
}

TEST(Beta, IsAFloatByDefault) { EXPECT_EQ(OpTester("random.beta").run({})[0].dtype, DType::kFloat32); }

TEST(Beta, RefusesWhatCannotBe) {
  for (const double bad : {0.0, -1.0, 1e39, std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_THROW(OpTester("random.beta", {{"alpha", bad}}).run({}), Error);
    EXPECT_THROW(OpTester("random.beta", {{"beta", bad}}).run({}), Error);
  }
  EXPECT_THROW(OpTester("random.beta", {{"dtype", static_cast<int64_t>(DType::kInt32)}}), Error);
}

}  // namespace
}  // namespace headrace
