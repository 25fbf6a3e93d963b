// _arithmetic_generic_op: one function of up to three operands, elementwise. Python's operators and headrace.math
// make a node for each function of an expression.
//
// Operands are the inputs, with constants in between: `1 - a` is
//   _arithmetic_generic_op(a, function="sub", constant_positions=[0], constant_types=[INT32], integer_constants=[1])
// `constant_positions` are ascending positions among all operands. The values of constants of integer type and of bool
// are `integer_constants`, those of float and double `float_constants`, each in order of position; uint64 values from
// 2^63 on are passed less 2^64.
#include <array>
#include <cmath>
#include <limits>

#include "graph/registry.h"
#include "kernels/cpu/operand_tiles.h"
#include "ops/math/arithmetic/evaluation.h"

namespace headrace {
namespace {

struct Constant {
  int position = 0;
  DType dtype = DType::kNone;
  alignas(8) std::array<uint8_t, 8> value{};
};

template <typename T> void store_integer(int64_t value, Constant& constant) {
  const bool fits = std::is_same_v<T, uint64_t> || (value >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
                                                    value <= static_cast<int64_t>(std::numeric_limits<T>::max()));
  if (!fits) {
    fail(ErrorKind::kOverflow, "[arithmetic] constant {} is out of range for {}; use a NumPy scalar of a wider type",
         value, dtype_name(constant.dtype));
  }
  const T stored = static_cast<T>(value);
  std::memcpy(constant.value.data(), &stored, sizeof stored);
}

template <typename T> void store_float(double value, Constant& constant) {
  const T stored = static_cast<T>(value);
  std::memcpy(constant.value.data(), &stored, sizeof stored);
}

// Whether all values of the lists were asked for is checked by the caller.
class ConstantValues {
 public:
  explicit ConstantValues(const OpSpec& spec)
      : integers_(spec.get_ints("integer_constants")), floats_(spec.get_floats("float_constants")) {}

  void store_next(Constant& constant) {
    if (is_integer(constant.dtype)) {
      visit_dtype(constant.dtype, IntegerTypes(), "[arithmetic] constant_types",
                  [&]<typename T>() { store_integer<T>(next(integers_, integer_), constant); });
    } else if (constant.dtype == DType::kBool) {
      constant.value[0] = next(integers_, integer_) != 0;
    } else {
      visit_dtype(constant.dtype, TypeList<float, double>(), "[arithmetic] constant_types",
                  [&]<typename T>() { store_float<T>(next(floats_, float_), constant); });
    }
  }
  bool all_used() const { return integer_ == integers_.size() && float_ == floats_.size(); }

 private:
  template <typename T> static T next(const std::vector<T>& values, size_t& at) {
    check_value(at < values.size(),
                "[arithmetic] integer_constants, float_constants: fewer values than constant_types");
    return values[at++];
  }

  const std::vector<int64_t>& integers_;
  const std::vector<double>& floats_;
  size_t integer_ = 0;
  size_t float_ = 0;
};

std::vector<Constant> read_constants(const OpSpec& spec) {
  const std::vector<int64_t>& positions = spec.get_ints("constant_positions");
  const std::vector<int64_t>& types = spec.get_ints("constant_types");
  check_value(positions.size() == types.size(),
              "[arithmetic] constant_types: expected one for each of the {} constant_positions, got {}",
              positions.size(), types.size());
  ConstantValues values(spec);
  std::vector<Constant> constants(positions.size());
  for (size_t i = 0; i < positions.size(); ++i) {
    constants[i].position = static_cast<int>(positions[i]);
    constants[i].dtype = static_cast<DType>(types[i]);
    check_value(i == 0 || positions[i - 1] < positions[i],
                "[arithmetic] constant_positions: expected ascending numbers");
    values.store_next(constants[i]);
  }
  check_value(values.all_used(), "[arithmetic] integer_constants, float_constants: more values than constant_types");
  return constants;
}

// The layouts of the operands must be equal, or one the end of the other; the longer one wins. It is dropped if the
// result has more axes.
void join_layout(Layout& joined, const Layout& other) {
  if (other.ndim() <= joined.ndim()) {
    check(joined.str().ends_with(other.str()),
          "[arithmetic] operands: layouts \"{}\" and \"{}\" don't match; one must be the end of the other", joined,
          other);
  } else {
    check(other.str().ends_with(joined.str()),
          "[arithmetic] operands: layouts \"{}\" and \"{}\" don't match; one must be the end of the other", joined,
          other);
    joined = other;
  }
}

class Arithmetic : public SampleOperator {
 public:
  explicit Arithmetic(const OpSpec& spec)
      : function_(find_function(spec.get_string("function"))), constants_(read_constants(spec)) {
    const int given = spec.num_inputs + static_cast<int>(constants_.size());
    check_value(given == function_.operands, "[arithmetic] {}: expected {} operands, got {}", function_.name,
                function_.operands, given);
    check_value(constants_.empty() || (constants_[0].position >= 0 && constants_.back().position < given),
                "[arithmetic] constant_positions: expected numbers from 0 to {}", given - 1);
  }

  void infer(SampleContext& ctx) const override {
    std::array<DType, kMaxOperands> types;
    std::array<Shape, kMaxOperands> shapes;
    Layout layout;
    for_each_operand(ctx, [&](int i, const Sample& operand) {
      types[i] = operand.dtype;
      shapes[i] = operand.shape;
      join_layout(layout, operand.layout);
    });
    const size_t count = static_cast<size_t>(function_.operands);
    Plan& plan = ctx.make_plan<Plan>();
    plan.evaluation = evaluate_as(function_, std::span(types.data(), count));
    Sample& out = ctx.output(0);
    out.describe_as(ctx.input(0));
    out.dtype = plan.evaluation.result;
    out.shape = broadcast_shape(std::span(shapes.data(), count));
    out.layout = layout.ndim() == out.shape.ndim() ? layout : Layout();
    plan.broadcast = merge_axes(std::span(shapes.data(), count), out.shape);
  }

  void run(SampleContext& ctx) const override {
    const int64_t volume = ctx.output(0).volume();
    if (volume == 0) return;
    const Plan& plan = ctx.plan<Plan>();
    std::array<OperandTiles*, kMaxOperands> operands{};
    bool direct = true;
    for_each_operand(ctx, [&](int i, const Sample& operand) {
      void* memory = ctx.arena().allocate(sizeof(OperandTiles));
      operands[i] =
          new (memory) OperandTiles(operand, i, plan.broadcast, volume, plan.evaluation.operand_types[i], ctx.arena());
      direct = direct && operands[i]->is_direct();
    });
    run_tiles(plan, std::span(operands.data(), static_cast<size_t>(function_.operands)), ctx.output(0), volume,
              direct ? volume : kTileSize);
  }

 private:
  struct Plan {
    Evaluation evaluation;
    Broadcast broadcast;
  };

  // Calls f(position, sample) for inputs and constants in order.
  template <typename F> void for_each_operand(const SampleContext& ctx, F&& f) const {
    size_t constant = 0;
    int input = 0;
    for (int i = 0; i < function_.operands; ++i) {
      if (constant < constants_.size() && constants_[constant].position == i) {
        Sample sample;
        sample.dtype = constants_[constant].dtype;
        sample.data = const_cast<uint8_t*>(constants_[constant].value.data());  // operands are only read
        f(i, sample);
        ++constant;
      } else {
        f(i, ctx.input(input++));
      }
    }
  }

  static void run_tiles(const Plan& plan, std::span<OperandTiles* const> operands, const Sample& out, int64_t volume,
                        int64_t tile) {
    const size_t size = dtype_size(out.dtype);
    std::array<const void*, kMaxOperands> in{};
    for (int64_t offset = 0; offset < volume; offset += tile) {
      const int64_t count = std::min(tile, volume - offset);
      for (size_t i = 0; i < operands.size(); ++i) in[i] = operands[i]->at(offset, count);
      plan.evaluation.kernel(out.as<uint8_t>() + static_cast<size_t>(offset) * size, in.data(), count);
    }
  }

  const FunctionInfo& function_;
  const std::vector<Constant> constants_;
};

}  // namespace

void register_math_arithmetic(Registry& r) {
  r.add<Arithmetic>(
      Schema("_arithmetic_generic_op")
          .doc("Evaluates one function of numbers elementwise, with type promotion and broadcasting.")
          .variadic_input("operands", 1, kMaxOperands, {.doc = "The operands that are not constants, in order."})
          .required_arg("function", ArgType::kString, "Name of the function: \"add\", \"clamp\", \"sin\", ...")
          .arg("constant_positions", ArgType::kIntList, std::vector<int64_t>(),
               "Ascending positions, among all operands, of those that are constants.")
          .arg("constant_types", ArgType::kDTypeList, std::vector<int64_t>(), "The type of each constant.")
          .arg("integer_constants", ArgType::kIntList, std::vector<int64_t>(),
               "Values of the constants of integer type and of bool, in order of position.")
          .arg("float_constants", ArgType::kFloatList, std::vector<double>(),
               "Values of the constants of type float and double, in order of position."));
}

}  // namespace headrace
