// Fuzz target: Caffe2 and Caffe records of any bytes, read with every kind of label.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/error.h"
#include "io/caffe.h"

namespace {

using headrace::LabelType;

void read_tensor(const headrace::RecordTensor& tensor) {
  if (tensor.dtype == headrace::DType::kNone) return;
  std::vector<uint8_t> out(static_cast<size_t>(tensor.size) * headrace::dtype_size(tensor.dtype));
  tensor.copy_to(out.data());
}

void read_image(const headrace::RecordImage& image) {
  volatile uint8_t sink = 0;
  for (const uint8_t byte : image.bytes) sink = byte;
  (void)sink;
}

void read_caffe2(std::span<const uint8_t> bytes, const headrace::Caffe2Options& options) {
  const auto record = headrace::parse_caffe2_record(bytes, options);
  read_image(record.image);
  std::vector<uint8_t> label(static_cast<size_t>(record.label_size) * headrace::dtype_size(record.label_dtype));
  if (record.label_dtype != headrace::DType::kNone) record.write_label(label.data());
  for (const auto& tensor : record.additional_inputs) read_tensor(tensor);
  read_tensor(record.bbox);
}

template <typename Action> void ignore_errors(Action&& action) {
  try {
    action();
  } catch (const headrace::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  for (int type = 0; type <= 4; ++type) {
    const bool further = type % 2;
    ignore_errors([&] {
      read_caffe2(bytes, {.image_available = type != 2,
                          .label_type = static_cast<LabelType>(type),
                          .num_labels = 10,
                          .additional_inputs = further,
                          .bbox = further});
    });
  }
  ignore_errors([&] { read_image(headrace::parse_caffe_record(bytes, {}).image); });
  return 0;
}
