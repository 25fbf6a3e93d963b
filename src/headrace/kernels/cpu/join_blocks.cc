// Joining: a strided copy per source, with typed loops for blocks of one element.
#include "kernels/cpu/join_blocks.h"

#include <cstring>

namespace headrace {
namespace {

template <typename T> void scatter(const void* in, int64_t count, uint8_t* out, size_t stride) {
  const auto* from = static_cast<const uint8_t*>(in);
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(out + static_cast<size_t>(i) * stride, from + static_cast<size_t>(i) * sizeof(T), sizeof(T));
}

void scatter_blocks(const BlockSource& source, int64_t count, uint8_t* out, size_t stride) {
  switch (source.block_bytes) {
    case 0: return;
    case 1: return scatter<uint8_t>(source.data, count, out, stride);
    case 2: return scatter<uint16_t>(source.data, count, out, stride);
    case 4: return scatter<uint32_t>(source.data, count, out, stride);
    case 8: return scatter<uint64_t>(source.data, count, out, stride);
    default: break;
  }
  const auto* in = static_cast<const uint8_t*>(source.data);
  for (int64_t i = 0; i < count; ++i, in += source.block_bytes, out += stride) std::memcpy(out, in, source.block_bytes);
}

}  // namespace

void join_blocks(std::span<const BlockSource> sources, int64_t count, void* out) {
  size_t stride = 0;
  for (const BlockSource& source : sources) stride += source.block_bytes;
  auto* to = static_cast<uint8_t*>(out);
  for (const BlockSource& source : sources) {
    scatter_blocks(source, count, to, stride);
    to += source.block_bytes;
  }
}

}  // namespace headrace
