// readers.caffe: records of Caffe data sets (Datum in an LMDB).
#include "io/caffe.h"
#include "graph/registry.h"
#include "ops/readers/lmdb_records.h"

namespace headrace {
namespace {

int count_outputs(const ArgMap& args) {
  const auto flag = [&](const char* name) { return std::get<bool>(args.find(name)->second) ? 1 : 0; };
  return flag("image_available") + flag("label_available");
}

}  // namespace

class CaffeReader final : public Reader {
 public:
  explicit CaffeReader(const OpSpec& spec)
      : options_{spec.get_bool("image_available"), spec.get_bool("label_available")}, records_(spec) {
    check(spec.num_outputs > 0, "{}: expected at least one output, got image_available=False and label_available=False",
          spec.about("image_available"));
  }

  int64_t size() const override { return records_.size(); }
  std::string source_name(int64_t index) const override { return records_.source_name(index); }
  void prefetch(const SampleId& soon, const SampleId& later) const override {
    records_.prefetch(soon.index, later.index);
  }

  void infer(SampleContext& ctx) const override {
    const int64_t index = ctx.id().index;
    const CaffeRecord record = parse_caffe_record(records_[index], options_);
    int next = 0;
    if (options_.image_available) {
      Sample& image = ctx.output(next++);
      image.data = const_cast<uint8_t*>(record.image.bytes.data());
      image.dtype = DType::kUInt8;
      image.shape = Shape(std::span(record.image.extents).first(static_cast<size_t>(record.image.ndim)));
      image.source = {this, index};
    }
    if (options_.label_available) {
      ctx.output(next).dtype = DType::kInt32;
      ctx.output(next).shape = {1};
      ctx.make_plan<int32_t>() = record.label;
    }
  }

  void run(SampleContext& ctx) const override {
    if (options_.label_available) *ctx.output(ctx.num_outputs() - 1).as<int32_t>() = ctx.plan<int32_t>();
  }

 private:
  CaffeOptions options_;
  LmdbRecords records_;
};

void register_readers_caffe(Registry& r) {
  for (const char* name : {"readers.caffe", "caffe_reader"}) {
    Schema schema(name);
    schema
        .doc(
            "Reads Caffe data sets: LMDBs of `Datum`. Outputs, those asked for: the image (encoded: uint8 (n,), raw: "
            "uint8 (H, W, C)) and the label, int32 (1,).")
        .reader()
        .outputs_from_args(count_outputs)
        .required_arg("path", ArgType::kStringList,
                      "Folder (or data file) of an LMDB, or a list: they are read one after the other.")
        .arg("image_available", ArgType::kBool, true, "Records hold an image.")
        .arg("label_available", ArgType::kBool, true, "Records hold a label.");
    if (schema.name() != "readers.caffe") schema.deprecated("Use `readers.caffe`.");
    r.add<CaffeReader>(std::move(schema));
  }
}

}  // namespace headrace
