// readers.caffe2: records of Caffe2 data sets (TensorProtos in an LMDB).
#include <algorithm>

#include "graph/registry.h"
#include "io/caffe.h"
#include "ops/readers/lmdb_records.h"

namespace headrace {
namespace {

// What run() needs of a parsed record; the image needs nothing, it is used where it lies.
struct Plan {
  RecordTensor label, weights, bbox;
  LabelType label_type = LabelType::kNone;
  DType label_dtype = DType::kNone;
  int64_t label_size = 0;
  RecordTensor* additional_inputs = nullptr;
};

constexpr int64_t kMostInputs = 1000;

Caffe2Options get_options(const OpSpec& spec) {
  Caffe2Options options;
  options.image_available = spec.get_bool("image_available");
  const int64_t type = spec.get_int("label_type");
  check(type >= 0 && type <= 4,
        "{}: expected 0 (single), 1 (sparse), 2 (dense), 3 (weighted sparse) or 4 (no label), got {}",
        spec.about("label_type"), type);
  options.label_type = static_cast<LabelType>(type);
  options.num_labels = spec.get_int("num_labels");
  check(options.num_labels > 0, "{}: expected a positive number, got {}", spec.about("num_labels"), options.num_labels);
  const int64_t inputs = spec.get_int("additional_inputs");
  check(inputs >= 0 && inputs <= kMostInputs, "{}: expected a number from 0 to {}, got {}",
        spec.about("additional_inputs"), kMostInputs, inputs);
  options.additional_inputs = static_cast<int>(inputs);
  options.bbox = spec.get_bool("bbox");
  return options;
}

int count_outputs(const ArgMap& args) {
  const auto flag = [&](const char* name) { return std::get<bool>(args.find(name)->second) ? 1 : 0; };
  const auto number = [&](const char* name) { return std::get<int64_t>(args.find(name)->second); };
  // Wrong numbers are refused by the constructor, which comes later.
  const int inputs = static_cast<int>(std::clamp<int64_t>(number("additional_inputs"), 0, kMostInputs));
  const int label = number("label_type") == static_cast<int64_t>(LabelType::kNone) ? 0 : 1;
  return flag("image_available") + label + inputs + flag("bbox");
}

void describe_vector(Sample& out, DType dtype, int64_t size) {
  out.dtype = dtype;
  out.shape = {size};
}

}  // namespace

class Caffe2Reader final : public Reader {
 public:
  explicit Caffe2Reader(const OpSpec& spec) : options_(get_options(spec)), records_(spec) {
    check(spec.num_outputs > 0, "{}: expected at least one output, got image_available=False and label_type=4",
          spec.about("image_available"));
  }

  int64_t size() const override { return records_.size(); }
  std::string source_name(int64_t index) const override { return records_.source_name(index); }
  void prefetch(const SampleId& soon, const SampleId& later) const override {
    records_.prefetch(soon.index, later.index);
  }

  void infer(SampleContext& ctx) const override {
    const int64_t index = ctx.id().index;
    const Caffe2Record record = parse_caffe2_record(records_[index], options_);
    Plan& plan = ctx.make_plan<Plan>();
    int next = 0;
    if (options_.image_available) {
      Sample& image = ctx.output(next++);
      image.data = const_cast<uint8_t*>(record.image.bytes.data());
      image.dtype = DType::kUInt8;
      image.shape = Shape(std::span(record.image.extents).first(static_cast<size_t>(record.image.ndim)));
      image.source = {this, index};
    }
    if (options_.label_type != LabelType::kNone) {
      describe_vector(ctx.output(next++), record.label_dtype, record.label_size);
      plan.label = record.label;
      plan.weights = record.weights;
      plan.label_type = record.label_type;
      plan.label_dtype = record.label_dtype;
      plan.label_size = record.label_size;
    }
    if (options_.additional_inputs > 0) {
      plan.additional_inputs = ctx.arena().allocate_array<RecordTensor>(record.additional_inputs.size()).data();
      std::copy(record.additional_inputs.begin(), record.additional_inputs.end(), plan.additional_inputs);
      for (const RecordTensor& t : record.additional_inputs) describe_vector(ctx.output(next++), t.dtype, t.size);
    }
    if (options_.bbox) {
      describe_vector(ctx.output(next), record.bbox.dtype, record.bbox.size);
      plan.bbox = record.bbox;
    }
  }

  void run(SampleContext& ctx) const override {
    const Plan& plan = ctx.plan<Plan>();
    int next = options_.image_available ? 1 : 0;
    if (options_.label_type != LabelType::kNone) {
      Caffe2Record record;
      record.label = plan.label;
      record.weights = plan.weights;
      record.label_type = plan.label_type;
      record.label_dtype = plan.label_dtype;
      record.label_size = plan.label_size;
      record.write_label(ctx.output(next++).data);
    }
    for (int i = 0; i < options_.additional_inputs; ++i) plan.additional_inputs[i].copy_to(ctx.output(next++).data);
    if (options_.bbox) plan.bbox.copy_to(ctx.output(next).data);
  }

 private:
  Caffe2Options options_;
  LmdbRecords records_;
};

void register_readers_caffe2(Registry& r) {
  for (const char* name : {"readers.caffe2", "caffe2_reader"}) {
    Schema schema(name);
    schema
        .doc(
            "Reads Caffe2 data sets: LMDBs of `TensorProtos`. Outputs, those asked for, in this order: the image "
            "(encoded: uint8 (n,), raw: uint8 (H, W, C)), the label (int32 or float), the additional inputs (flat), "
            "the bounding box (int32 (4,)).")
        .reader()
        .outputs_from_args(count_outputs)
        .required_arg("path", ArgType::kStringList,
                      "Folder (or data file) of an LMDB, or a list: they are read one after the other.")
        .arg("image_available", ArgType::kBool, true, "Records hold an image.")
        .arg("label_type", ArgType::kInt, 0,
             "0: one number, (1,). 1: the list of the active classes, made a vector of zeros and ones (num_labels,). "
             "2: a vector, as it is. 3: as 1 with a weight for each active class, float. 4: no label.")
        .arg("num_labels", ArgType::kInt, 1, "Number of classes, for the label types 1 and 3.")
        .arg("additional_inputs", ArgType::kInt, 0, "Number of further tensors in each record.")
        .arg("bbox", ArgType::kBool, false, "Records hold a bounding box.");
    if (schema.name() != "readers.caffe2") schema.deprecated("Use `readers.caffe2`.");
    r.add<Caffe2Reader>(std::move(schema));
  }
}

}  // namespace headrace
