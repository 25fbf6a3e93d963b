// Element types: names.
#include "core/dtype.h"

namespace headrace {

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
