// get_property: what is known about a sample besides its elements, as text in a uint8 vector.
#include <cstring>

#include "graph/registry.h"

namespace headrace {
namespace {

class GetProperty : public SampleOperator {
 public:
  explicit GetProperty(const OpSpec& spec) : layout_(spec.get_string("key") == "layout") {
    check(layout_ || spec.get_string("key") == "source_info",
          "[get_property] key: expected \"layout\" or \"source_info\", got \"{}\"", spec.get_string("key"));
  }

  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    const int64_t length = layout_ ? in.layout.ndim() : static_cast<int64_t>(in.source.name().size());
    Sample& out = ctx.output(0);
    out.dtype = DType::kUInt8;
    out.shape = {length};
    out.source = in.source;
  }

  void run(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    const std::string text = layout_ ? std::string(in.layout.str()) : in.source.name();
    if (!text.empty()) std::memcpy(ctx.output(0).data, text.data(), text.size());
  }

 private:
  const bool layout_;
};

}  // namespace

void register_generic_get_property(Registry& r) {
  r.add<GetProperty>(
      Schema("get_property")
          .doc("A property of the sample as text (uint8, without a final zero); empty if it has none.")
          .input("data", {.shape_only = true, .doc = "Any tensor."})
          .required_arg("key", ArgType::kString, "\"layout\", or \"source_info\": where the sample was read from."));
}

}  // namespace headrace
