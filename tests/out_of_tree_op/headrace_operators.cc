// Operators built outside of headrace: each kind that there is, and one that fails in every way.
#include <headrace/op.h>

#include <cstring>
#include <optional>
#include <stdexcept>

namespace {

using namespace headrace;

// Elementwise, with a constant or a value for each sample: out = in * scale + offset in float, converted to dtype.
class ScaleAdd : public SampleOperator {
 public:
  explicit ScaleAdd(const OpSpec& spec)
      : scale_(spec, "scale"),
        offset_(spec, "offset"),
        dtype_(spec.has("dtype") ? spec.get_dtype("dtype") : DType::kNone) {}

  void infer(SampleContext& ctx) const override {
    ctx.output(0).describe_as(ctx.input(0));
    if (dtype_ != DType::kNone) ctx.output(0).dtype = dtype_;
  }

  void run(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    const Sample& out = ctx.output(0);
    const float scale = scale_(ctx), offset = offset_(ctx);
    visit_dtype(in.dtype, Types(), "[out_of_tree.scale_add] data", [&]<typename In>() {
      visit_dtype(out.dtype, Types(), "[out_of_tree.scale_add] dtype", [&]<typename Out>() {
        for (int64_t i = 0; i < in.volume(); ++i) {
          out.as<Out>()[i] = convert<Out>(static_cast<float>(in.as<const In>()[i]) * scale + offset);
        }
      });
    });
  }

 private:
  using Types = TypeList<uint8_t, int32_t, float>;
  const Arg<float> scale_;
  const Arg<float> offset_;
  const DType dtype_;
};

// The whole batch: every sample less the mean of the batch.
class SubtractBatchMean : public BatchOperator {
 public:
  explicit SubtractBatchMean(const OpSpec&) {}

  void run(BatchContext& ctx) const override {
    const Batch& in = *ctx.inputs[0];
    double sum = 0;
    int64_t count = 0;
    for (int i = 0; i < in.size(); ++i) {
      check(in[i].dtype == DType::kFloat32, "[out_of_tree.subtract_batch_mean] data: expected float, got {}",
            dtype_name(in[i].dtype));
      for (int64_t k = 0; k < in[i].volume(); ++k, ++count) sum += in[i].as<const float>()[k];
    }
    const auto mean = static_cast<float>(sum / static_cast<double>(count));
    auto out = make_ref<Batch>(ctx.pool, in.size());
    for (int i = 0; i < in.size(); ++i) {
      auto* values = static_cast<float*>(out->claim(i, in[i]));
      for (int64_t k = 0; k < in[i].volume(); ++k) values[k] = in[i].as<const float>()[k] - mean;
    }
    ctx.outputs[0] = std::move(out);
  }
};

// Inverts images by a table that each worker keeps; asks for no more of its input than is needed of its output.
class Invert : public SampleOperator {
 public:
  explicit Invert(const OpSpec&) {}

  void infer(SampleContext& ctx) const override { ctx.output(0).describe_as(ctx.input(0)); }
  std::optional<Region> input_region(const SampleContext&, int, const Region& needed) const override { return needed; }
  bool writes_regions() const override { return true; }

  struct Table : WorkerState {
    std::vector<uint8_t> inverse;
  };
  std::unique_ptr<WorkerState> make_worker_state() const override {
    auto table = std::make_unique<Table>();
    for (int i = 0; i < 256; ++i) table->inverse.push_back(static_cast<uint8_t>(255 - i));
    return table;
  }

  // Rows of the part that is wanted; the input may hold a larger part.
  void run(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    const Sample& out = ctx.output(0);
    const std::vector<uint8_t>& inverse = ctx.worker_state<Table>().inverse;
    const Region part = out.region ? *out.region : Region::whole(out.shape);
    const Shape from = in.stored_shape(), to = out.stored_shape();
    for (int64_t y = part.begin[0]; y < part.end[0]; ++y) {
      for (int64_t x = part.begin[1]; x < part.end[1]; ++x) {
        for (int64_t c = part.begin[2]; c < part.end[2]; ++c) {
          out.origin()[(y * to[1] + x) * to[2] + c] = inverse[in.origin()[(y * from[1] + x) * from[2] + c]];
        }
      }
    }
  }
};

// A source of records: the squares of 0 .. size - 1.
class Squares : public Reader {
 public:
  explicit Squares(const OpSpec& spec) : size_(spec.get_int("size")) {}

  int64_t size() const override { return size_; }
  std::string source_name(int64_t index) const override { return "square of " + std::to_string(index); }
  void infer(SampleContext& ctx) const override {
    Sample& out = ctx.output(0);
    out.dtype = DType::kInt64;
    out.shape = Shape();
    out.source = {this, ctx.id().index};
  }
  void run(SampleContext& ctx) const override { *ctx.output(0).as<int64_t>() = ctx.id().index * ctx.id().index; }

 private:
  const int64_t size_;
};

// Draws a number from 0 to 1 for each sample.
class Draw : public SampleOperator {
 public:
  explicit Draw(const OpSpec& spec) : seed_(spec.seed) {}
  void infer(SampleContext& ctx) const override {
    ctx.output(0).dtype = DType::kFloat32;
    ctx.output(0).shape = Shape();
  }
  void run(SampleContext& ctx) const override { *ctx.output(0).as<float>() = ctx.random(seed_).next_float(); }

 private:
  const uint64_t seed_;
};

struct Foreign {};  // no std::exception
struct Own : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void fail_as(const std::string& kind) {
  if (kind == "value") fail(ErrorKind::kValue, "[out_of_tree.failing] kind: {} is not allowed", kind);
  if (kind == "std") throw std::out_of_range("out of range");
  if (kind == "own") throw Own("an exception class of the library");
  if (kind == "memory") throw std::bad_alloc();
  throw Foreign();
}

class Failing : public SampleOperator {
 public:
  explicit Failing(const OpSpec& spec) : kind_(spec.get_string("kind")), where_(spec.get_string("where")) {
    if (where_ == "constructor") fail_as(kind_);
  }
  void infer(SampleContext& ctx) const override {
    if (where_ == "infer") fail_as(kind_);
    ctx.output(0).describe_as(ctx.input(0));
  }
  void run(SampleContext& ctx) const override {
    if (where_ == "run") fail_as(kind_);
    std::memcpy(ctx.output(0).data, ctx.input(0).data, ctx.input(0).bytes());
  }
  void prefetch(const SampleId&, const SampleId&) const override {
    if (where_ == "prefetch") fail_as(kind_);
  }

 private:
  const std::string kind_;
  const std::string where_;
};

// Departs from its Schema, in the way that `how` says.
class Careless : public SampleOperator {
 public:
  explicit Careless(const OpSpec& spec) : how_(spec.get_string("how")) {
    if (how_ == "constant") (void)spec.get_int("unheard_of");
    if (how_ == "value") undeclared_.emplace(spec, "unheard_of");
    if (how_ == "integer") integer_.emplace(spec, "factor");
    if (how_ == "integers") integers_.emplace(spec, "factors");
  }
  void infer(SampleContext& ctx) const override {
    if (how_ == "input") (void)ctx.input(1);
    if (how_ == "negative input") (void)ctx.input(-1);
    if (how_ == "argument") (void)ctx.argument(0);
    if (how_ == "output") (void)ctx.output(1);
    if (how_ != "nothing") ctx.output(0).describe_as(ctx.input(0));
  }
  void run(SampleContext& ctx) const override { (void)ctx.input(2); }

 private:
  const std::string how_;
  std::optional<Arg<float>> undeclared_;
  std::optional<Arg<int32_t>> integer_;
  std::optional<ArgList<int32_t>> integers_;
};

class FailingBatch : public BatchOperator {
 public:
  explicit FailingBatch(const OpSpec& spec) : kind_(spec.get_string("kind")) {}
  void run(BatchContext&) const override { fail_as(kind_); }

 private:
  const std::string kind_;
};

}  // namespace

HEADRACE_PLUGIN(registry) {
  registry.add<ScaleAdd>(Schema("out_of_tree.scale_add")
                             .doc("Computes `in * scale + offset`.")
                             .input("data", {.doc = "Numbers."})
                             .arg("scale", ArgType::kFloat, 1.0, "The factor.", PerSample::kAllowed)
                             .not_for_shapes()
                             .arg("offset", ArgType::kFloat, 0.0, "What is added.", PerSample::kAllowed)
                             .not_for_shapes()
                             .arg("dtype", ArgType::kDType, {}, "Type of the output; that of the input by default."));
  registry.add<SubtractBatchMean>(
      Schema("out_of_tree.subtract_batch_mean").doc("Subtracts the batch's mean.").input("data"));
  registry.add<Invert>(
      Schema("out_of_tree.images.invert").doc("Inverts images.").input("images", {.layouts = {"HWC"}}));
  registry.add<Squares>(
      Schema("out_of_tree.squares").doc("Square numbers.").reader().required_arg("size", ArgType::kInt, "How many."));
  registry.add<Draw>(Schema("out_of_tree.draw").doc("Draws a number.").random());
  registry.add<Failing>(Schema("out_of_tree.failing")
                            .doc("Fails.")
                            .input("data")
                            .required_arg("kind", ArgType::kString, "How it fails.")
                            .arg("where", ArgType::kString, "run", "Where it fails."));
  registry.add<Careless>(
      Schema("out_of_tree.careless")
          .doc("Departs from this Schema.")
          .input("data")
          .required_arg("how", ArgType::kString, "In which way.")
          .arg("factor", ArgType::kFloat, 0.5, "A number.", PerSample::kAllowed)
          .arg("factors", ArgType::kFloatList, std::vector<double>{0.5}, "Numbers.", PerSample::kAllowed));
  registry.add<FailingBatch>(Schema("out_of_tree.failing_batch")
                                 .doc("Fails.")
                                 .input("data")
                                 .required_arg("kind", ArgType::kString, "How it fails."));
}
