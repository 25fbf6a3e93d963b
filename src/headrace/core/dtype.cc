// Element types: names and sizes.
#include "core/dtype.h"

namespace headrace {

size_t dtype_size(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kBool: return 1;
    case DType::kUInt16:
    case DType::kInt16:
    case DType::kFloat16:
    case DType::kBFloat16: return 2;
    case DType::kUInt32:
    case DType::kInt32:
    case DType::kFloat32: return 4;
    case DType::kUInt64:
    case DType::kInt64:
    case DType::kFloat64: return 8;
    case DType::kNone: break;
  }
  return 0;
}

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kUInt8: return "uint8";
    case DType::kUInt16: return "uint16";
    case DType::kUInt32: return "uint32";
    case DType::kUInt64: return "uint64";
    case DType::kInt8: return "int8";
    case DType::kInt16: return "int16";
    case DType::kInt32: return "int32";
    case DType::kInt64: return "int64";
    case DType::kFloat16: return "float16";
    case DType::kFloat32: return "float";
    case DType::kFloat64: return "double";
    case DType::kBool: return "bool";
    case DType::kBFloat16: return "bfloat16";
    case DType::kNone: break;
  }
  return "none";
}

}  // namespace headrace
