// Records of Caffe and Caffe2 data sets: what an LMDB's values hold.
//
// Note [Records as DALI reads them]. Observed with DALI 2.4 on the CPU; where headrace differs it is said.
//
// Caffe: one `Datum`.
//   image  `data`. If the field `encoded` is present and false: u8 (height, width, channels), the bytes as they are
//          (Caffe writes planes, so more than one channel is not interleaved). Else encoded bytes: u8 (n,).
//   label  `label`: i32 (1,). A record without label or without data gives an empty tensor in DALI, an error here.
//
// Caffe2: `TensorProtos`, whose tensors are taken in this order; each exists only if asked for. More tensors than
// that are ignored.
//   image    STRING: string_data[0], u8 (n,). BYTE: byte_data, u8 (dims[0], dims[1], dims[2] or 1). BYTE with fewer
//            than two dims: u8 (n,) here, an error in DALI. Other types are errors.
//   label    FLOAT or INT32 (a tensor without type is FLOAT), by label type:
//            kSingle          exactly one value: its type (1,)
//            kSparse          the active classes: a vector of zeros and ones, the tensor's type (num_labels,)
//            kDense           all values, flat: the tensor's type (n,)
//            kWeightedSparse  the active classes, and a further tensor, FLOAT, with one weight each: f32 (num_labels,)
//                             with the weights at the classes; the last one of equal classes counts
//            kNone            no tensor, no output
//   inputs   `additional_inputs` tensors of FLOAT, INT32 or INT64: flat, their type (n,), dims ignored
//   bbox     INT32 with four values: i32 (4,)
// The outputs are in the same order, without the weights. DALI declares one output more for kSparse and
// kWeightedSparse, never fills it and fails; and it doesn't step over the weights before the additional inputs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/dtype.h"

namespace headrace {

// The image of a record: bytes inside the record, and their shape: (n,) encoded, or (height, width, channels) raw.
struct RecordImage {
  std::span<const uint8_t> bytes;
  std::array<int64_t, 3> extents{};
  int ndim = 0;

  bool encoded() const { return ndim == 1; }
};

// The numbers of a tensor, still inside the record in wire form.
struct RecordTensor {
  DType dtype = DType::kNone;  // kFloat32, kInt32 or kInt64; kNone if the record wasn't asked for this tensor
  int64_t size = 0;
  std::span<const uint8_t> message;

  // Writes the numbers to `out`, which has `size` elements of `dtype`.
  void copy_to(void* out) const;
};

struct CaffeOptions {
  bool image_available = true;
  bool label_available = true;
};

struct CaffeRecord {
  RecordImage image;
  int32_t label = 0;
};

// Parses a `Datum`. Errors say what is missing or malformed; the caller adds which record it was.
CaffeRecord parse_caffe_record(std::span<const uint8_t> record, const CaffeOptions& options);

// The numbers are those of the argument label_type.
enum class LabelType { kSingle = 0, kSparse = 1, kDense = 2, kWeightedSparse = 3, kNone = 4 };

struct Caffe2Options {
  bool image_available = true;
  LabelType label_type = LabelType::kSingle;
  int64_t num_labels = 1;
  int additional_inputs = 0;
  bool bbox = false;
};

struct Caffe2Record {
  RecordImage image;
  LabelType label_type = LabelType::kNone;
  DType label_dtype = DType::kNone;  // of the label output, see Note [Records as DALI reads them]
  int64_t label_size = 0;            // of the label output, which has one axis
  RecordTensor label;                // as stored: for the sparse types the classes
  RecordTensor weights;
  std::vector<RecordTensor> additional_inputs;
  RecordTensor bbox;

  // Writes the label output: label_size elements of label_dtype. A class out of range is an error.
  void write_label(void* out) const;
};

// Parses a `TensorProtos`. Nothing is copied, and nothing allocated without additional inputs. Errors as above.
Caffe2Record parse_caffe2_record(std::span<const uint8_t> record, const Caffe2Options& options);

// The records that converters write: an encoded image with one integer label.
std::vector<uint8_t> make_caffe_record(std::span<const uint8_t> encoded_image, int32_t label);
std::vector<uint8_t> make_caffe2_record(std::span<const uint8_t> encoded_image, int32_t label);

}  // namespace headrace
