// Records of Caffe and Caffe2 data sets: parsing and writing.
#include "io/caffe.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "core/error.h"
#include "io/protobuf.h"

namespace headrace {
namespace {

// Field numbers of caffe.Datum.
namespace datum {
constexpr uint32_t kChannels = 1, kHeight = 2, kWidth = 3, kData = 4, kLabel = 5, kEncoded = 7;
}

// Field numbers and types of caffe2.TensorProto; TensorProtos has the one field kProtos.
namespace tensor_proto {
constexpr uint32_t kProtos = 1;
constexpr uint32_t kDims = 1, kDataType = 2, kFloatData = 3, kInt32Data = 4, kByteData = 5, kStringData = 6,
                   kInt64Data = 10;
constexpr int32_t kFloat = 1, kInt32 = 2, kByte = 3, kString = 4, kInt64 = 10;
}  // namespace tensor_proto

int32_t as_int32(uint64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }

RecordImage encoded_image(std::span<const uint8_t> bytes) { return {bytes, {static_cast<int64_t>(bytes.size())}, 1}; }

RecordImage raw_image(std::span<const uint8_t> bytes, int64_t height, int64_t width, int64_t channels) {
  int64_t volume = 0;
  const bool fits = height >= 0 && width >= 0 && channels >= 0 && !__builtin_mul_overflow(height, width, &volume) &&
                    !__builtin_mul_overflow(volume, channels, &volume);
  check(fits && static_cast<size_t>(volume) == bytes.size(),
        "record's raw image: expected height x width x channels = {} x {} x {} bytes, got {}", height, width, channels,
        bytes.size());
  return {bytes, {height, width, channels}, 3};
}

// The tensors of a TensorProtos, one by one.
class Tensors {
 public:
  explicit Tensors(std::span<const uint8_t> record) : reader_(record) {}

  // The next tensor's message; fails if there is none.
  std::span<const uint8_t> next(const char* what) {
    ProtoField field;
    while (reader_.next(field)) {
      if (field.number != tensor_proto::kProtos || field.type != WireType::kBytes) continue;
      ++count_;
      return field.bytes;
    }
    fail(ErrorKind::kRuntime, "record has no {}: it has only {} tensors", what, count_);
  }

  // Reads to the end, so that a record that is malformed behind the tensors in use is an error too.
  void finish() {
    ProtoField field;
    while (reader_.next(field)) continue;
  }

 private:
  ProtoReader reader_;
  int count_ = 0;
};

RecordImage parse_image(std::span<const uint8_t> message) {
  int32_t type = tensor_proto::kFloat;
  std::array<int64_t, 3> dims{};
  size_t ndim = 0;
  const auto add_dim = [&](uint64_t value) {
    if (ndim < dims.size()) dims[ndim] = static_cast<int64_t>(value);
    ++ndim;
  };
  std::span<const uint8_t> bytes;
  bool has_string = false, has_bytes = false;
  std::span<const uint8_t> string;
  ProtoField field;
  for (ProtoReader reader(message); reader.next(field);) {
    if (field.type == WireType::kVarint) {
      if (field.number == tensor_proto::kDataType) type = as_int32(field.value);
      if (field.number == tensor_proto::kDims) add_dim(field.value);
    } else if (field.type == WireType::kBytes) {
      if (field.number == tensor_proto::kDims) {
        uint64_t value;
        for (PackedVarints packed(field.bytes); packed.next(value);) add_dim(value);
      } else if (field.number == tensor_proto::kByteData) {
        bytes = field.bytes;
        has_bytes = true;
      } else if (field.number == tensor_proto::kStringData && !has_string) {
        string = field.bytes;
        has_string = true;
      }
    }
  }
  check(type == tensor_proto::kString || type == tensor_proto::kByte,
        "record has no image: expected a tensor of type STRING (4) or BYTE (3), got {}", type);
  check(type == tensor_proto::kString ? has_string : has_bytes || ndim >= 2,
        "record has no image: its tensor has no {}", type == tensor_proto::kString ? "string_data" : "byte_data");
  if (type == tensor_proto::kString) return encoded_image(string);
  if (ndim < 2) return encoded_image(bytes);
  check(ndim <= 3, "record's raw image: expected dims (height, width[, channels]), got {} of them", ndim);
  return raw_image(bytes, dims[0], dims[1], ndim == 3 ? dims[2] : 1);
}

// Calls visit(number) for each number of the repeated field that holds the tensor's values of type T, packed or not.
template <typename T, typename Visit> void visit_numbers(std::span<const uint8_t> message, Visit&& visit) {
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  constexpr uint32_t kNumber = kIsFloat                     ? tensor_proto::kFloatData
                               : std::is_same_v<T, int32_t> ? tensor_proto::kInt32Data
                                                            : tensor_proto::kInt64Data;
  const auto number = [](uint64_t bits) {
    if constexpr (kIsFloat) return std::bit_cast<float>(static_cast<uint32_t>(bits));
    if constexpr (!kIsFloat) return static_cast<T>(bits);
  };
  ProtoField field;
  for (ProtoReader reader(message); reader.next(field);) {
    if (field.number != kNumber) continue;
    if (field.type == (kIsFloat ? WireType::kFixed32 : WireType::kVarint)) visit(number(field.value));
    if (field.type != WireType::kBytes) continue;
    if constexpr (kIsFloat) {
      check(field.bytes.size() % 4 == 0, "[protobuf] not a valid message: packed float_data of {} bytes",
            field.bytes.size());
      for (size_t i = 0; i < field.bytes.size(); i += 4) {
        uint32_t bits;
        std::memcpy(&bits, field.bytes.data() + i, sizeof bits);
        visit(number(bits));
      }
    } else {
      uint64_t value;
      for (PackedVarints packed(field.bytes); packed.next(value);) visit(number(value));
    }
  }
}

// The tensor's type, and how many numbers each of the repeated fields holds: one pass over the message.
struct TensorFields {
  int32_t type = tensor_proto::kFloat;
  int64_t floats = 0, int32s = 0, int64s = 0;

  explicit TensorFields(std::span<const uint8_t> message) {
    ProtoField field;
    for (ProtoReader reader(message); reader.next(field);) {
      const bool varint = field.type == WireType::kVarint, bytes = field.type == WireType::kBytes;
      switch (field.number) {
        case tensor_proto::kDataType:
          if (varint) type = as_int32(field.value);
          break;
        case tensor_proto::kFloatData:
          floats += field.type == WireType::kFixed32 ? 1 : bytes ? packed_floats(field.bytes) : 0;
          break;
        case tensor_proto::kInt32Data: int32s += varint ? 1 : bytes ? packed_varints(field.bytes) : 0; break;
        case tensor_proto::kInt64Data: int64s += varint ? 1 : bytes ? packed_varints(field.bytes) : 0; break;
        default: break;
      }
    }
  }

  static int64_t packed_floats(std::span<const uint8_t> bytes) {
    check(bytes.size() % 4 == 0, "[protobuf] not a valid message: packed float_data of {} bytes", bytes.size());
    return static_cast<int64_t>(bytes.size() / 4);
  }
  static int64_t packed_varints(std::span<const uint8_t> bytes) {
    int64_t count = 0;
    uint64_t value;
    for (PackedVarints packed(bytes); packed.next(value);) ++count;
    return count;
  }
};

using NumberTypes = TypeList<float, int32_t, int64_t>;

RecordTensor parse_tensor(std::span<const uint8_t> message, const char* what) {
  const TensorFields fields(message);
  switch (fields.type) {
    case tensor_proto::kFloat: return {DType::kFloat32, fields.floats, message};
    case tensor_proto::kInt32: return {DType::kInt32, fields.int32s, message};
    case tensor_proto::kInt64: return {DType::kInt64, fields.int64s, message};
    default:
      fail(ErrorKind::kRuntime, "record's {}: expected a tensor of type FLOAT (1), INT32 (2) or INT64 (10), got {}",
           what, fields.type);
  }
}

RecordTensor parse_label(std::span<const uint8_t> message) {
  const RecordTensor label = parse_tensor(message, "label");
  check(label.dtype != DType::kInt64, "record's label: expected a tensor of type FLOAT (1) or INT32 (2), got INT64");
  return label;
}

void parse_labels(Tensors& tensors, const Caffe2Options& options, Caffe2Record& record) {
  record.label_type = options.label_type;
  record.label = parse_label(tensors.next("label"));
  record.label_dtype = record.label.dtype;
  record.label_size = record.label.size;
  switch (options.label_type) {
    case LabelType::kSingle:
      check(record.label.size > 0, "record has no label: its tensor is empty");
      check(record.label.size == 1, "record's label: expected one number, got {}; do choose another label_type",
            record.label.size);
      break;
    case LabelType::kWeightedSparse:
      record.weights = parse_tensor(tensors.next("label weights"), "label weights");
      check(record.weights.dtype == DType::kFloat32 && record.weights.size == record.label.size,
            "record's label weights: expected {} numbers of type FLOAT, got {} of type {}", record.label.size,
            record.weights.size, dtype_name(record.weights.dtype));
      record.label_dtype = DType::kFloat32;
      record.label_size = options.num_labels;
      break;
    case LabelType::kSparse: record.label_size = options.num_labels; break;
    default: break;
  }
}

// Calls visit(i, class) for each class of a sparse label, checked against the number of labels.
template <typename Visit> void visit_classes(const Caffe2Record& record, Visit&& visit) {
  visit_dtype(record.label.dtype, TypeList<float, int32_t>{}, "label", [&]<typename T>() {
    int64_t i = 0;
    visit_numbers<T>(record.label.message, [&](T number) {
      // Written so that NaN fails; a fraction is cut off, as in DALI.
      const double value = number;
      check(value >= 0 && value < static_cast<double>(record.label_size),
            "record's label: expected classes from 0 to {}, got {}; do check num_labels", record.label_size - 1, value);
      visit(i++, static_cast<int64_t>(value));
    });
  });
}

template <typename T> void write_ones(const Caffe2Record& record, T* out) {
  std::fill_n(out, record.label_size, T{0});
  visit_classes(record, [&](int64_t, int64_t index) { out[index] = T{1}; });
}

void write_weights(const Caffe2Record& record, float* out) {
  std::fill_n(out, record.label_size, 0.0f);
  std::vector<float> weights(static_cast<size_t>(record.weights.size));
  record.weights.copy_to(weights.data());
  visit_classes(record, [&](int64_t i, int64_t index) { out[index] = weights[static_cast<size_t>(i)]; });
}

}  // namespace

void RecordTensor::copy_to(void* out) const {
  visit_dtype(dtype, NumberTypes{}, "record's tensor", [&]<typename T>() {
    T* at = static_cast<T*>(out);
    visit_numbers<T>(message, [&](T value) { *at++ = value; });
  });
}

CaffeRecord parse_caffe_record(std::span<const uint8_t> record, const CaffeOptions& options) {
  int64_t channels = 0, height = 0, width = 0;
  std::span<const uint8_t> data;
  bool has_data = false, has_label = false, raw = false;
  CaffeRecord result;
  ProtoField field;
  for (ProtoReader reader(record); reader.next(field);) {
    if (field.type == WireType::kBytes && field.number == datum::kData) {
      data = field.bytes;
      has_data = true;
    }
    if (field.type != WireType::kVarint) continue;
    switch (field.number) {
      case datum::kChannels: channels = as_int32(field.value); break;
      case datum::kHeight: height = as_int32(field.value); break;
      case datum::kWidth: width = as_int32(field.value); break;
      case datum::kEncoded: raw = field.value == 0; break;
      case datum::kLabel:
        result.label = as_int32(field.value);
        has_label = true;
        break;
      default: break;
    }
  }
  check(has_label || !options.label_available, "record has no label; do read it with label_available=False");
  if (options.image_available) {
    check(has_data, "record has no image; do read it with image_available=False");
    result.image = raw ? raw_image(data, height, width, channels) : encoded_image(data);
  }
  return result;
}

Caffe2Record parse_caffe2_record(std::span<const uint8_t> record, const Caffe2Options& options) {
  Caffe2Record result;
  Tensors tensors(record);
  if (options.image_available) result.image = parse_image(tensors.next("image"));
  if (options.label_type != LabelType::kNone) parse_labels(tensors, options, result);
  for (int i = 0; i < options.additional_inputs; ++i)
    result.additional_inputs.push_back(parse_tensor(tensors.next("additional input"), "additional input"));
  if (options.bbox) {
    result.bbox = parse_tensor(tensors.next("bounding box"), "bounding box");
    check(result.bbox.dtype == DType::kInt32 && result.bbox.size == 4,
          "record's bounding box: expected 4 numbers of type INT32, got {} of type {}", result.bbox.size,
          dtype_name(result.bbox.dtype));
  }
  tensors.finish();
  return result;
}

void Caffe2Record::write_label(void* out) const {
  if (weights.dtype != DType::kNone) return write_weights(*this, static_cast<float*>(out));
  if (label_type != LabelType::kSparse) return label.copy_to(out);
  if (label_dtype == DType::kFloat32) return write_ones(*this, static_cast<float*>(out));
  write_ones(*this, static_cast<int32_t*>(out));
}

std::vector<uint8_t> make_caffe_record(std::span<const uint8_t> encoded_image, int32_t label) {
  ProtoWriter record;
  record.bytes(datum::kData, encoded_image);
  record.integer(datum::kLabel, label);
  record.varint(datum::kEncoded, 1);
  return record.take();
}

std::vector<uint8_t> make_caffe2_record(std::span<const uint8_t> encoded_image, int32_t label) {
  ProtoWriter image, number, record;
  image.varint(tensor_proto::kDims, 1);
  image.varint(tensor_proto::kDataType, tensor_proto::kString);
  image.bytes(tensor_proto::kStringData, encoded_image);
  number.varint(tensor_proto::kDims, 1);
  number.varint(tensor_proto::kDataType, tensor_proto::kInt32);
  number.integer(tensor_proto::kInt32Data, label);
  record.message(tensor_proto::kProtos, image);
  record.message(tensor_proto::kProtos, number);
  return record.take();
}

}  // namespace headrace
