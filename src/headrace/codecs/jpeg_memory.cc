// Memory for libjpeg's per-image state that is kept from one image to the next.
#include "codecs/jpeg_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <vector>

#include <jpeglib.h>

#include <jerror.h>

namespace headrace {
namespace {

// What libjpeg-turbo's SIMD code relies on: aligned rows, padded to twice the alignment.
constexpr size_t kAlignment = 32;
constexpr size_t kRowPadding = 64;
constexpr size_t kFirstChunk = 64 << 10;

size_t round_up(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

struct JpegMemory::Pool {
  struct Chunk {
    std::unique_ptr<std::byte[]> memory;
    size_t size;
  };

  static Pool& of(j_common_ptr cinfo) { return *static_cast<Pool*>(cinfo->client_data); }
  static void* alloc(j_common_ptr cinfo, int pool, size_t bytes);
  static JSAMPARRAY alloc_rows(j_common_ptr cinfo, int pool, JDIMENSION samples, JDIMENSION rows);
  static void free_pool(j_common_ptr cinfo, int pool);

  void* take(size_t bytes);
  void rewind();

  std::vector<Chunk> chunks;  // the last one is in use
  size_t used = 0;            // bytes of it
  jpeg_memory_mgr original{};
};

JpegMemory::JpegMemory() : pool_(std::make_unique<Pool>()) {}
JpegMemory::~JpegMemory() = default;

void JpegMemory::install(jpeg_common_struct* cinfo) {
  cinfo->client_data = pool_.get();
  pool_->chunks.reserve(64);  // sizes double, so there are never more, and push_back does not throw
  pool_->original = *cinfo->mem;
  cinfo->mem->alloc_small = Pool::alloc;
  cinfo->mem->alloc_large = Pool::alloc;
  cinfo->mem->alloc_sarray = Pool::alloc_rows;
  cinfo->mem->free_pool = Pool::free_pool;
}

void JpegMemory::forget_tables(jpeg_decompress_struct& cinfo) {
  std::fill(std::begin(cinfo.quant_tbl_ptrs), std::end(cinfo.quant_tbl_ptrs), nullptr);
  std::fill(std::begin(cinfo.dc_huff_tbl_ptrs), std::end(cinfo.dc_huff_tbl_ptrs), nullptr);
  std::fill(std::begin(cinfo.ac_huff_tbl_ptrs), std::end(cinfo.ac_huff_tbl_ptrs), nullptr);
}

void* JpegMemory::Pool::alloc(j_common_ptr cinfo, int /*pool*/, size_t bytes) {
  void* block = of(cinfo).take(bytes);
  if (!block) ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
  return block;
}

JSAMPARRAY JpegMemory::Pool::alloc_rows(j_common_ptr cinfo, int pool, JDIMENSION samples, JDIMENSION rows) {
  const size_t stride = round_up(samples, kRowPadding);
  auto* pointers = static_cast<JSAMPARRAY>(alloc(cinfo, pool, rows * sizeof(JSAMPROW)));
  auto* pixels = static_cast<JSAMPROW>(alloc(cinfo, pool, rows * stride));
  for (JDIMENSION i = 0; i < rows; ++i) pointers[i] = pixels + i * stride;
  return pointers;
}

void JpegMemory::Pool::free_pool(j_common_ptr cinfo, int pool) {
  Pool& memory = of(cinfo);
  memory.original.free_pool(cinfo, pool);
  if (pool == JPOOL_IMAGE) memory.rewind();
}

// Null if there is no memory: an exception must not pass through libjpeg.
void* JpegMemory::Pool::take(size_t bytes) {
  bytes = round_up(std::max<size_t>(bytes, 1), kAlignment);
  if (chunks.empty() || chunks.back().size - used < bytes) {
    const size_t size = std::max({kFirstChunk, bytes + kAlignment, chunks.empty() ? 0 : 2 * chunks.back().size});
    Chunk chunk{std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[size]), size};
    if (!chunk.memory) return nullptr;
    // The first block starts aligned.
    used = round_up(reinterpret_cast<uintptr_t>(chunk.memory.get()), kAlignment) -
           reinterpret_cast<uintptr_t>(chunk.memory.get());
    chunks.push_back(std::move(chunk));
    if (chunks.back().size - used < bytes) return nullptr;
  }
  void* block = chunks.back().memory.get() + used;
  used += bytes;
  return block;
}

// Keeps the last chunk, the largest.
void JpegMemory::Pool::rewind() {
  if (chunks.empty()) return;
  if (chunks.size() > 1) chunks.erase(chunks.begin(), chunks.end() - 1);
  const auto start = reinterpret_cast<uintptr_t>(chunks.back().memory.get());
  used = round_up(start, kAlignment) - start;
}

}  // namespace headrace
