// Memory for libjpeg's per-image state that is kept from one image to the next.
#include "codecs/jpeg_memory.h"

#include <algorithm>
#include <new>

#include <jerror.h>

namespace headrace {
namespace {

// What libjpeg-turbo's SIMD code relies on: aligned rows, padded to twice the alignment.
constexpr size_t kAlignment = 32;
constexpr size_t kRowPadding = 64;
constexpr size_t kFirstChunk = 64 << 10;

size_t round_up(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

JpegMemory& self(j_common_ptr cinfo) { return *static_cast<JpegMemory*>(cinfo->client_data); }

}  // namespace

void JpegMemory::install(j_common_ptr cinfo) {
  cinfo->client_data = this;
  chunks_.reserve(64);  // sizes double, so there are never more, and push_back does not throw
  original_ = *cinfo->mem;
  cinfo->mem->alloc_small = alloc;
  cinfo->mem->alloc_large = alloc_large;
  cinfo->mem->alloc_sarray = alloc_rows;
  cinfo->mem->free_pool = free_pool;
}

void* JpegMemory::alloc(j_common_ptr cinfo, int pool, size_t bytes) {
  JpegMemory& memory = self(cinfo);
  if (pool != JPOOL_IMAGE) return memory.original_.alloc_small(cinfo, pool, bytes);
  void* block = memory.take(bytes);
  if (!block) ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
  return block;
}

void* JpegMemory::alloc_large(j_common_ptr cinfo, int pool, size_t bytes) {
  if (pool != JPOOL_IMAGE) return self(cinfo).original_.alloc_large(cinfo, pool, bytes);
  return alloc(cinfo, pool, bytes);
}

JSAMPARRAY JpegMemory::alloc_rows(j_common_ptr cinfo, int pool, JDIMENSION samples, JDIMENSION rows) {
  if (pool != JPOOL_IMAGE) return self(cinfo).original_.alloc_sarray(cinfo, pool, samples, rows);
  const size_t stride = round_up(samples, kRowPadding);
  auto* pointers = static_cast<JSAMPARRAY>(alloc(cinfo, pool, rows * sizeof(JSAMPROW)));
  auto* pixels = static_cast<JSAMPROW>(alloc(cinfo, pool, rows * stride));
  for (JDIMENSION i = 0; i < rows; ++i) pointers[i] = pixels + i * stride;
  return pointers;
}

void JpegMemory::free_pool(j_common_ptr cinfo, int pool) {
  JpegMemory& memory = self(cinfo);
  memory.original_.free_pool(cinfo, pool);
  if (pool == JPOOL_IMAGE) memory.rewind();
}

// Null if there is no memory: an exception must not pass through libjpeg.
void* JpegMemory::take(size_t bytes) {
  bytes = round_up(std::max<size_t>(bytes, 1), kAlignment);
  if (chunks_.empty() || chunks_.back().size - used_ < bytes) {
    const size_t size = std::max({kFirstChunk, bytes + kAlignment, chunks_.empty() ? 0 : 2 * chunks_.back().size});
    Chunk chunk{std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[size]), size};
    if (!chunk.memory) return nullptr;
    // The first block starts aligned.
    used_ = round_up(reinterpret_cast<uintptr_t>(chunk.memory.get()), kAlignment) -
            reinterpret_cast<uintptr_t>(chunk.memory.get());
    chunks_.push_back(std::move(chunk));
    if (chunks_.back().size - used_ < bytes) return nullptr;
  }
  void* block = chunks_.back().memory.get() + used_;
  used_ += bytes;
  return block;
}

// Keeps the last chunk, the largest.
void JpegMemory::rewind() {
  if (chunks_.empty()) return;
  if (chunks_.size() > 1) chunks_.erase(chunks_.begin(), chunks_.end() - 1);
  const auto start = reinterpret_cast<uintptr_t>(chunks_.back().memory.get());
  used_ = round_up(start, kAlignment) - start;
}

}  // namespace headrace
