// Joining: interleaves blocks of several tensors, which is what concatenation and stacking do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace {

struct BlockSource {
  const void* data;
  size_t block_bytes;  // 0: nothing comes from this source
};

// Writes block 0 of every source, then block 1 of every source, ... up to block `count` - 1. The blocks of a source lie
// one behind the other.
void join_blocks(std::span<const BlockSource> sources, int64_t count, void* out);

}  // namespace headrace
