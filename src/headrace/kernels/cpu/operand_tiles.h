// OperandTiles: one operand as a sequence of dense tiles in the type that a kernel takes.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sample.h"
#include "kernels/cpu/broadcast.h"

namespace headrace {

// Elements that are converted and computed at a time: what three operands and the result need stays in the L1 cache.
constexpr int64_t kTileSize = 512;

class OperandTiles {
 public:
  // `index` is the operand's in `broadcast`, `volume` the number of elements of the result, `type` the kernel's.
  OperandTiles(const Sample& operand, int index, const Broadcast& broadcast, int64_t volume, DType type, Arena& arena);

  // The elements from `offset` (in the result's order) on, `count` <= kTileSize of them. Valid until the next call.
  const void* at(int64_t offset, int64_t count);
  // All elements of the result lie in a row in memory.
  bool is_direct() const { return direct_; }

 private:
  using Conversion = void (*)(const void* from, void* to, int64_t count);
  static Conversion find_conversion(DType from, DType to);

  void expand(const Sample& operand, int64_t elements);
  const void* converted(const void* from, int64_t count);
  void gather(int64_t offset, int64_t count);
  template <typename Bits> void gather_as(int64_t offset, int64_t count);

  const Broadcast& broadcast_;
  const int64_t* strides_;
  const uint8_t* data_;
  size_t size_;            // bytes of an element in memory
  size_t tile_size_;       // and in a tile
  Conversion conversion_;  // null if an element's bits stay as they are
  bool direct_ = false;
  int64_t period_;               // of the expanded pattern, or 0
  uint8_t* gathered_ = nullptr;  // a tile in the operand's own type
  uint8_t* tile_ = nullptr;      // a tile, or the expanded pattern, in the kernel's type
};

}  // namespace headrace
