// Tests of Caffe and Caffe2 records. The expected outputs were observed with DALI 2.4 on records of the same kinds.
#include "io/caffe.h"

#include <gmock/gmock.h>

#include <functional>
#include <string>

#include "io/protobuf.h"
#include "io/test_folder.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

const Bytes kJpeg = {0xff, 0xd8, 'J', 0xff, 0xd9};
constexpr uint64_t kFloat = 1, kInt32 = 2, kByte = 3, kString = 4, kUInt8 = 6, kInt64 = 10;

// A TensorProto of `type` (0: none) with these numbers, each in its own field or packed.
ProtoWriter numbers(uint64_t type, std::vector<double> values, bool packed = false) {
  ProtoWriter tensor;
  tensor.varint(1, values.size());
  if (type) tensor.varint(2, type);
  const uint32_t field = type == kInt32 ? 4 : type == kInt64 ? 10 : 3;
  ProtoWriter each;
  for (const double value : values)
    field == 3 ? each.float32(field, static_cast<float>(value)) : each.integer(field, static_cast<int64_t>(value));
  if (!packed) {
    for (const double value : values)
      field == 3 ? tensor.float32(field, static_cast<float>(value))
                 : tensor.integer(field, static_cast<int64_t>(value));
    return tensor;
  }
  Bytes payload;
  ProtoField one;
  ProtoReader reader(each.data());
  for (const uint8_t* before = each.data().data(); reader.next(one);) {
    const uint8_t* after = before + 1;  // the tag has one byte; a number of 32 bits is fixed, others end below 0x80
    if (field == 3)
      after += 4;
    else
      while (*after++ >= 0x80) continue;
    payload.insert(payload.end(), before + 1, after);
    before = after;
  }
  tensor.bytes(field, payload);
  return tensor;
}

ProtoWriter string_tensor(const Bytes& bytes = kJpeg) {
  ProtoWriter tensor;
  tensor.varint(2, kString);
  tensor.bytes(6, bytes);
  return tensor;
}

ProtoWriter byte_tensor(std::vector<int64_t> dims, const Bytes& bytes) {
  ProtoWriter tensor;
  for (const int64_t dim : dims) tensor.integer(1, dim);
  tensor.varint(2, kByte);
  tensor.bytes(5, bytes);
  return tensor;
}

Bytes record_of(const std::vector<ProtoWriter>& tensors) {
  ProtoWriter record;
  for (const ProtoWriter& tensor : tensors) record.message(1, tensor);
  return record.take();
}

std::vector<double> values_of(const RecordTensor& tensor) {
  std::vector<double> values;
  const auto size = static_cast<size_t>(tensor.size);
  visit_dtype(tensor.dtype, TypeList<float, int32_t, int64_t>{}, "test", [&]<typename T>() {
    std::vector<T> out(size);
    tensor.copy_to(out.data());
    values.assign(out.begin(), out.end());
  });
  return values;
}

std::vector<double> label_of(const Caffe2Record& record) {
  const auto size = static_cast<size_t>(record.label_size);
  if (record.label_dtype == DType::kFloat32) {
    std::vector<float> out(size, -1);
    record.write_label(out.data());
    return {out.begin(), out.end()};
  }
  std::vector<int32_t> out(size, -1);
  record.write_label(out.data());
  return {out.begin(), out.end()};
}

TEST(Caffe2Record, EncodedImageWithOneLabelIsReadInPlace) {
  const Bytes bytes = make_caffe2_record(kJpeg, -7);
  const Caffe2Record record = parse_caffe2_record(bytes, {});
  EXPECT_TRUE(record.image.encoded());
  EXPECT_EQ(Bytes(record.image.bytes.begin(), record.image.bytes.end()), kJpeg);
  EXPECT_GE(record.image.bytes.data(), bytes.data());
  EXPECT_LT(record.image.bytes.data(), bytes.data() + bytes.size());
  EXPECT_EQ(record.label_dtype, DType::kInt32);
  EXPECT_THAT(label_of(record), ElementsAre(-7));
}

TEST(Caffe2Record, Images) {
  const Bytes six = {0, 1, 2, 3, 4, 5};
  const ProtoWriter label = numbers(kInt32, {7});
  const struct {
    ProtoWriter tensor;
    std::vector<int64_t> expected;  // shape
  } cases[] = {
      {string_tensor(), {5}},
      {string_tensor({}), {0}},
      {byte_tensor({2, 3}, six), {2, 3, 1}},
      {byte_tensor({1, 2, 3}, six), {1, 2, 3}},
      {byte_tensor({0, 3, 1}, {}), {0, 3, 1}},
      {byte_tensor({}, six), {6}},
      {byte_tensor({6}, six), {6}},
  };
  for (const auto& c : cases) {
    const Bytes bytes = record_of({c.tensor, label});
    const RecordImage image = parse_caffe2_record(bytes, {}).image;
    EXPECT_EQ(std::vector<int64_t>(image.extents.begin(), image.extents.begin() + image.ndim), c.expected);
  }
}

TEST(Caffe2Record, LabelTypes) {
  const struct {
    LabelType type;
    std::vector<ProtoWriter> tensors;
    DType dtype;
    std::vector<double> expected;
  } cases[] = {
      {LabelType::kSingle, {numbers(kInt32, {7})}, DType::kInt32, {7}},
      {LabelType::kSingle, {numbers(kInt32, {7}, true)}, DType::kInt32, {7}},
      {LabelType::kSingle, {numbers(kFloat, {7.5})}, DType::kFloat32, {7.5}},
      {LabelType::kSingle, {numbers(0, {7.5}, true)}, DType::kFloat32, {7.5}},
      {LabelType::kSparse, {numbers(kInt32, {1, 3})}, DType::kInt32, {0, 1, 0, 1, 0}},
      {LabelType::kSparse, {numbers(kInt32, {4, 4, 0}, true)}, DType::kInt32, {1, 0, 0, 0, 1}},
      {LabelType::kSparse, {numbers(kInt32, {})}, DType::kInt32, {0, 0, 0, 0, 0}},
      {LabelType::kSparse, {numbers(kFloat, {1.7, 3.2})}, DType::kFloat32, {0, 1, 0, 1, 0}},
      {LabelType::kDense, {numbers(kFloat, {0.5, 0.25, 1})}, DType::kFloat32, {0.5, 0.25, 1}},
      {LabelType::kDense, {numbers(kInt32, {300, -2}, true)}, DType::kInt32, {300, -2}},
      {LabelType::kDense, {numbers(kFloat, {})}, DType::kFloat32, {}},
      {LabelType::kWeightedSparse,
       {numbers(kInt32, {1, 3}), numbers(kFloat, {0.5, 0.25})},
       DType::kFloat32,
       {0, 0.5, 0, 0.25, 0}},
      {LabelType::kWeightedSparse,
       {numbers(kFloat, {1, 1}), numbers(kFloat, {0.5, 0.25}, true)},
       DType::kFloat32,
       {0, 0.25, 0, 0, 0}},
  };
  for (const auto& c : cases) {
    const Bytes bytes = record_of(c.tensors);
    const Caffe2Options options{.image_available = false, .label_type = c.type, .num_labels = 5};
    const Caffe2Record record = parse_caffe2_record(bytes, options);
    EXPECT_EQ(record.label_dtype, c.dtype);
    EXPECT_EQ(label_of(record), c.expected);
  }
}

TEST(Caffe2Record, FurtherTensors) {
  const Bytes bytes =
      record_of({string_tensor(), numbers(kInt32, {1}), numbers(kFloat, {0.5}), numbers(kInt64, {1, -2}),
                 numbers(kFloat, {1, 2.5, 3}, true), numbers(kInt32, {1, 2, 3, 4}), numbers(kUInt8, {1})});
  const Caffe2Record record = parse_caffe2_record(
      bytes, {.label_type = LabelType::kWeightedSparse, .num_labels = 2, .additional_inputs = 2, .bbox = true});
  EXPECT_THAT(label_of(record), ElementsAre(0, 0.5));
  ASSERT_EQ(record.additional_inputs.size(), 2u);
  EXPECT_EQ(record.additional_inputs[0].dtype, DType::kInt64);
  EXPECT_THAT(values_of(record.additional_inputs[0]), ElementsAre(1, -2));
  EXPECT_THAT(values_of(record.additional_inputs[1]), ElementsAre(1, 2.5, 3));
  EXPECT_THAT(values_of(record.bbox), ElementsAre(1, 2, 3, 4));
}

TEST(Caffe2Record, NothingButTheImage) {
  const Bytes bytes = record_of({string_tensor()});
  const Caffe2Record record = parse_caffe2_record(bytes, {.label_type = LabelType::kNone});
  EXPECT_EQ(record.image.bytes.size(), kJpeg.size());
  EXPECT_EQ(record.label_dtype, DType::kNone);
}

TEST(Caffe2Record, SaysWhatIsMissingOrWrong) {
  const ProtoWriter image = string_tensor(), label = numbers(kInt32, {1});
  const Caffe2Options sparse{.label_type = LabelType::kSparse, .num_labels = 5};
  const Caffe2Options weighted{.label_type = LabelType::kWeightedSparse, .num_labels = 5};
  const struct {
    std::vector<ProtoWriter> tensors;
    Caffe2Options options;
    std::string expected;
  } cases[] = {
      {{}, {}, "record has no image: it has only 0 tensors"},
      {{image}, {}, "record has no label: it has only 1 tensors"},
      {{image}, {.image_available = false}, "record's label: expected a tensor of type FLOAT (1), INT32 (2)"},
      {{label, image}, {}, "record has no image: expected a tensor of type STRING (4) or BYTE (3), got 2"},
      {{numbers(kString, {}), label}, {}, "record has no image"},
      {{byte_tensor({2, 4}, Bytes(6)), label}, {}, "2 x 4 x 1 bytes, got 6"},
      {{byte_tensor({-2, -3}, Bytes(6)), label}, {}, "-2 x -3 x 1 bytes, got 6"},
      {{byte_tensor({1ll << 40, 1ll << 40}, {}), label}, {}, "bytes, got 0"},
      {{byte_tensor({1, 2, 3, 1}, Bytes(6)), label}, {}, "got 4 of them"},
      {{image, numbers(kInt32, {})}, {}, "record has no label: its tensor is empty"},
      {{image, numbers(kInt32, {1, 2})}, {}, "expected one number, got 2"},
      {{image, numbers(kInt64, {1})}, {}, "record's label: expected a tensor of type FLOAT (1) or INT32 (2)"},
      {{image, numbers(kInt32, {1, 5})}, sparse, "expected classes from 0 to 4, got 5"},
      {{image, numbers(kInt32, {-1})}, sparse, "got -1"},
      {{image, numbers(kFloat, {NAN})}, sparse, "got nan"},
      {{image, label}, weighted, "record has no label weights: it has only 2 tensors"},
      {{image, label, numbers(kFloat, {1, 2})}, weighted, "expected 1 numbers of type FLOAT, got 2"},
      {{image, label, numbers(kInt32, {1})}, weighted, "expected 1 numbers of type FLOAT, got 1 of type int32"},
      {{image, label}, {.additional_inputs = 1}, "record has no additional input"},
      {{image, label, image}, {.additional_inputs = 1}, "record's additional input: expected a tensor of type"},
      {{image, label}, {.bbox = true}, "record has no bounding box"},
      {{image, label, numbers(kFloat, {1, 2, 3, 4})}, {.bbox = true}, "expected 4 numbers of type INT32, got 4 of"},
      {{image, label, numbers(kInt32, {1, 2, 3})}, {.bbox = true}, "got 3 of type int32"},
  };
  for (const auto& c : cases) {
    const Bytes bytes = record_of(c.tensors);
    EXPECT_THAT(error_of([&] { label_of(parse_caffe2_record(bytes, c.options)); }), HasSubstr(c.expected));
  }
}

TEST(Caffe2Record, CutAtEachByteIsAnError) {
  const Bytes whole = record_of(
      {byte_tensor({1, 2}, {1, 2}), numbers(kInt32, {1, 300}, true), numbers(kFloat, {1, 2}), numbers(kInt64, {1})});
  const Caffe2Options options{.label_type = LabelType::kWeightedSparse, .num_labels = 500, .additional_inputs = 1};
  EXPECT_EQ(error_of([&] { label_of(parse_caffe2_record(whole, options)); }), "");
  for (size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(error_of([&] { label_of(parse_caffe2_record(cut, options)); }), "") << size;
  }
}

ProtoWriter datum(const Bytes& data, int label, std::array<uint64_t, 3> channels_height_width = {}) {
  ProtoWriter record;
  for (uint32_t i = 0; i < 3; ++i)
    if (channels_height_width[i]) record.varint(i + 1, channels_height_width[i]);
  record.bytes(4, data);
  record.integer(5, label);
  return record;
}

std::vector<int64_t> shape_of(const RecordImage& image) {
  return {image.extents.begin(), image.extents.begin() + image.ndim};
}

TEST(CaffeRecord, EncodedOrRaw) {
  const Bytes encoded = make_caffe_record(kJpeg, -5);
  const CaffeRecord record = parse_caffe_record(encoded, {});
  EXPECT_EQ(Bytes(record.image.bytes.begin(), record.image.bytes.end()), kJpeg);
  EXPECT_EQ(record.label, -5);

  ProtoWriter raw = datum(Bytes(18), 5, {3, 2, 3});
  EXPECT_THAT(shape_of(parse_caffe_record(raw.data(), {}).image), ElementsAre(18));
  raw.varint(7, 0);
  EXPECT_THAT(shape_of(parse_caffe_record(raw.data(), {}).image), ElementsAre(2, 3, 3));
  raw.varint(7, 1);
  EXPECT_THAT(shape_of(parse_caffe_record(raw.data(), {}).image), ElementsAre(18));
}

TEST(CaffeRecord, SaysWhatIsMissingOrWrong) {
  ProtoWriter only_label, only_data, mismatch = datum(Bytes(18), 5, {3, 2, 4}), huge = datum({}, 5, {1u << 31, 2, 2});
  only_label.integer(5, 1);
  only_data.bytes(4, kJpeg);
  mismatch.varint(7, 0);
  huge.varint(7, 0);
  const struct {
    const ProtoWriter* record;
    CaffeOptions options;
    std::string expected;
  } cases[] = {
      {&only_label, {}, "record has no image"},      {&only_data, {}, "record has no label"},
      {&only_label, {.image_available = false}, ""}, {&only_data, {.label_available = false}, ""},
      {&mismatch, {}, "2 x 4 x 3 bytes, got 18"},    {&huge, {}, "2 x 2 x -2147483648 bytes, got 0"},
  };
  for (const auto& c : cases) {
    const std::string error = error_of([&] { parse_caffe_record(c.record->data(), c.options); });
    if (c.expected.empty())
      EXPECT_EQ(error, "");
    else
      EXPECT_THAT(error, HasSubstr(c.expected));
  }
}

TEST(CaffeRecord, CutAtEachByteIsAnError) {
  const Bytes whole = make_caffe_record(kJpeg, 300);
  // The last field, `encoded`, has two bytes; a record without it is sound.
  for (size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(error_of([&] { parse_caffe_record(cut, {}); }) == "", size == whole.size() - 2) << size;
  }
}

}  // namespace
}  // namespace headrace
