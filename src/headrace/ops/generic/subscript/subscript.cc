// _tensor_subscript, _subscript_dim_check: what x[i, a:b:c] on a node becomes.
#include <algorithm>
#include <array>
#include <optional>

#include "graph/arg.h"
#include "graph/registry.h"
#include "kernels/cpu/strided_copy.h"

namespace headrace {
namespace {

constexpr int kMaxSubscripts = 32;  // arguments at_0 .. at_31, ..., as in DALI

// Where the output's elements are in the input.
struct Gather {
  int64_t first = 0;
  std::array<int64_t, Shape::kMaxDims> strides;
};

// A number in a subscript: a constant or a scalar node of integers.
class Index {
 public:
  Index(const OpSpec& spec, const std::string& name)
      : about_(spec.about(name)), arg_(spec, name), tensor_(spec.tensor_index(name)) {}

  bool given() const { return arg_.given(); }
  int64_t operator()(const SampleContext& ctx) const {
    if (tensor_ >= 0) {
      const Sample& value = ctx.argument(tensor_);
      check(is_integer(value.dtype) && value.shape.ndim() == 0, "{}: expected a scalar of integers, got {} of shape {}",
            about_, dtype_name(value.dtype), value.shape);
    }
    return arg_(ctx);
  }

 private:
  std::string about_;
  Arg<int64_t> arg_;
  int tensor_;
};

class TensorSubscript : public SampleOperator {
 public:
  explicit TensorSubscript(const OpSpec& spec) {
    int used = 0;
    for (int i = 0; i < kMaxSubscripts; ++i) {
      const std::string n = std::to_string(i);
      subscripts_.push_back(
          {Index(spec, "at_" + n), Index(spec, "lo_" + n), Index(spec, "hi_" + n), Index(spec, "step_" + n)});
      const Subscript& s = subscripts_.back();
      const bool range = s.lo.given() || s.hi.given() || s.step.given();
      check(!(s.at.given() && range), "[_tensor_subscript]: axis {} has both an index and a range", i);
      if (s.at.given() || range) used = i + 1;
    }
    subscripts_.erase(subscripts_.begin() + used, subscripts_.end());
    count_ = spec.has("num_subscripts") ? spec.get_int("num_subscripts") : used;
    check(count_ >= used, "[_tensor_subscript] num_subscripts: expected at least {}, got {}", used, count_);
  }

  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    const int ndim = in.shape.ndim();
    check(ndim > 0 || count_ == 0, "subscript: a scalar has no axis to index");
    check(count_ <= ndim, "subscript: {} indices for a sample of shape {}", count_, in.shape);
    Sample& out = ctx.output(0);
    out.describe_as(in);
    Gather& gather = ctx.make_plan<Gather>();
    int64_t stride = in.volume();
    int kept = 0;  // axes of the output so far
    for (int axis = 0; axis < ndim; ++axis) {
      stride = in.shape[axis] > 0 ? stride / in.shape[axis] : 0;
      const Subscript* s =
          axis < static_cast<int>(subscripts_.size()) ? &subscripts_[static_cast<size_t>(axis)] : nullptr;
      if (s && s->at.given()) {
        gather.first += stride * index(s->at(ctx), axis, in);
        out.shape.erase(kept);
        if (!out.layout.empty()) out.layout.erase(kept);
        continue;
      }
      const Range range = s ? clip(*s, ctx, axis, in.shape[axis]) : Range{0, in.shape[axis], 1};
      gather.first += stride * range.first;
      gather.strides[static_cast<size_t>(kept)] = stride * range.step;
      out.shape[kept++] = range.count;
    }
  }

  void run(SampleContext& ctx) const override {
    const Gather& gather = ctx.plan<Gather>();
    const Sample& out = ctx.output(0);
    if (out.volume() == 0) return;
    const size_t size = dtype_size(out.dtype);
    strided_copy(ctx.input(0).as<const uint8_t>() + gather.first * static_cast<int64_t>(size),
                 {gather.strides.data(), static_cast<size_t>(out.shape.ndim())}, out.data, out.shape, size);
  }

 private:
  struct Subscript {
    Index at, lo, hi, step;
  };
  struct Range {
    int64_t first, count, step;
  };

  static int64_t index(int64_t i, int axis, const Sample& in) {
    const int64_t extent = in.shape[axis];
    check(i >= -extent && i < extent, "subscript: index {} is out of range on axis {} of shape {}", i, axis, in.shape);
    return i < 0 ? i + extent : i;
  }

  // lo:hi:step of Python on `extent` elements: negative bounds count from the end, then both are clipped.
  static Range clip(const Subscript& s, const SampleContext& ctx, int axis, int64_t extent) {
    const int64_t step = s.step.given() ? s.step(ctx) : 1;
    check(step != 0, "subscript: the step on axis {} is zero", axis);
    const int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? extent : extent - 1;
    const auto bound = [&](const Index& given, int64_t otherwise) {
      if (!given.given()) return otherwise;
      const int64_t value = given(ctx);
      return std::clamp(value < 0 ? value + extent : value, lowest, highest);
    };
    const int64_t first = bound(s.lo, step > 0 ? lowest : highest);
    const int64_t end = bound(s.hi, step > 0 ? highest : lowest);
    const int64_t length = step > 0 ? end - first : first - end;
    const int64_t count = length <= 0 ? 0 : (length - 1) / std::abs(step) + 1;
    return {count > 0 ? first : 0, count, step};
  }

  std::vector<Subscript> subscripts_;
  int64_t count_ = 0;
};

// x[:, :] selects everything, but more subscripts than axes are still an error.
class SubscriptDimCheck : public SampleOperator {
 public:
  explicit SubscriptDimCheck(const OpSpec& spec) : count_(spec.get_int("num_subscripts")) {}

  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    check(count_ <= in.shape.ndim(), "subscript: {} indices for a sample of shape {}", count_, in.shape);
    ctx.output(0).describe_as(in);
  }

  void run(SampleContext&) const override {}

 private:
  const int64_t count_;
};

}  // namespace

void register_generic_subscript(Registry& r) {
  Schema subscript("_tensor_subscript");
  subscript.doc("Indexing with numbers and ranges; what a subscript of a node becomes.")
      .input("data", {.doc = "Any tensor."})
      .arg("num_subscripts", ArgType::kInt, {}, "Number of subscripts, with those that select a whole axis.");
  for (int i = 0; i < kMaxSubscripts; ++i) {
    const std::string n = std::to_string(i), axis = " on axis " + n + ".";
    subscript.arg("at_" + n, ArgType::kInt, {}, "Index" + axis, PerSample::kAllowed)
        .arg("lo_" + n, ArgType::kInt, {}, "Begin of the range" + axis, PerSample::kAllowed)
        .arg("hi_" + n, ArgType::kInt, {}, "End of the range" + axis, PerSample::kAllowed)
        .arg("step_" + n, ArgType::kInt, {}, "Step of the range" + axis, PerSample::kAllowed);
  }
  r.add<TensorSubscript>(std::move(subscript));
  r.add<SubscriptDimCheck>(Schema("_subscript_dim_check")
                               .doc("The input itself, if it has at least as many axes as subscripts.")
                               .view()
                               .input("data", {.doc = "Any tensor."})
                               .required_arg("num_subscripts", ArgType::kInt, "Number of subscripts."));
}

}  // namespace headrace
