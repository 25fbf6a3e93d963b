// element_extract: chosen frames of a sequence, one output each.
#include <cstring>

#include "graph/registry.h"

namespace headrace {
namespace {

class ElementExtract : public SampleOperator {
 public:
  explicit ElementExtract(const OpSpec& spec) : elements_(spec.get_ints("element_map")) {
    check(!elements_.empty(), "[element_extract] element_map: expected at least one index, got none");
    for (const int64_t element : elements_) {
      check(element >= 0, "[element_extract] element_map: expected indices from 0 on, got {}", element);
    }
  }

  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    check(in.shape.ndim() > 1, "[element_extract] input: expected a sequence with two axes or more, got shape {}",
          in.shape);
    check(in.layout.empty() || in.layout[0] == 'F',
          "[element_extract] input: expected a layout that starts with F, got \"{}\"", in.layout);
    for (size_t i = 0; i < elements_.size(); ++i) {
      check(elements_[i] < in.shape[0], "[element_extract] element_map: index {} in a sequence of {}", elements_[i],
            in.shape[0]);
      Sample& out = ctx.output(static_cast<int>(i));
      out.describe_as(in);
      out.shape.erase(0);
      if (!out.layout.empty()) out.layout.erase(0);
    }
  }

  void run(SampleContext& ctx) const override {
    for (size_t i = 0; i < elements_.size(); ++i) {
      const Sample& out = ctx.output(static_cast<int>(i));
      const size_t bytes = out.bytes();
      if (bytes == 0) continue;
      std::memcpy(out.data, ctx.input(0).as<const uint8_t>() + static_cast<size_t>(elements_[i]) * bytes, bytes);
    }
  }

 private:
  const std::vector<int64_t> elements_;
};

}  // namespace

void register_generic_element_extract(Registry& r) {
  r.add<ElementExtract>(
      Schema("element_extract")
          .doc("Takes elements of a sequence (axis 0, letter F) apart: output i is element element_map[i].")
          .input("data", {.doc = "A sequence with at least two axes."})
          .required_arg("element_map", ArgType::kIntList, "Indices of the elements, from 0 on; one output for each.")
          .outputs_from_arg(0, "element_map"));
}

}  // namespace headrace
