// DLPack's C structures, version 1.1, as far as CPU memory needs them.
//
// Source: https://dmlc.github.io/dlpack/latest/c_api.html and the array API standard's __dlpack__.
#pragma once

#include <cstdint>

namespace headrace::python::dlpack {

constexpr int32_t kCpu = 1;

enum TypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kComplex = 5, kBool = 6 };

struct Type {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Device {
  int32_t type;
  int32_t id;
};

struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  Type dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: C order
  uint64_t byte_offset;
};

// What a capsule "dltensor" points to.
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

constexpr uint32_t kMajor = 1;
constexpr uint32_t kMinor = 1;
constexpr uint64_t kReadOnly = 1;
constexpr uint64_t kIsCopied = 2;

// What a capsule "dltensor_versioned" points to.
struct ManagedVersioned {
  uint32_t major;
  uint32_t minor;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  Tensor tensor;
};

}  // namespace headrace::python::dlpack
