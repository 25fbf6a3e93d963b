// OperandTiles: conversion, expansion of repeated operands, gathering.
#include "kernels/cpu/operand_tiles.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/tile_kernel.h"

namespace headrace {
namespace {

using Conversion = void (*)(const void* from, void* to, int64_t count);

template <typename From, typename To> void convert_tile(const void* from, void* to, int64_t count) {
  static const TileKernel kernel = vector_kernel<To, From>([](From x) { return static_cast<To>(x); });
  kernel(to, &from, count);
}

// To an unsigned or floating type; signed ones have the same bits.
template <typename From> Conversion conversion_from(DType to) {
  switch (to) {
    case DType::kUInt16: return convert_tile<From, uint16_t>;
    case DType::kUInt32: return convert_tile<From, uint32_t>;
    case DType::kUInt64: return convert_tile<From, uint64_t>;
    case DType::kFloat32: return convert_tile<From, float>;
    case DType::kFloat64: return convert_tile<From, double>;
    default: return nullptr;
  }
}

DType unsigned_of(DType type) {
  constexpr DType kBySize[] = {DType::kNone, DType::kUInt8, DType::kUInt16, DType::kNone,  DType::kUInt32,
                               DType::kNone, DType::kNone,  DType::kNone,   DType::kUInt64};
  return is_floating(type) ? type : kBySize[dtype_size(type)];
}

}  // namespace

OperandTiles::Conversion OperandTiles::find_conversion(DType from, DType to) {
  if (unsigned_of(from) == unsigned_of(to)) return nullptr;
  if (from == DType::kFloat32) return convert_tile<float, double>;
  Conversion found = nullptr;
  visit_dtype(from == DType::kBool ? DType::kUInt8 : from, IntegerTypes(), "operands",
              [&]<typename T>() { found = conversion_from<T>(unsigned_of(to)); });
  return found;
}

OperandTiles::OperandTiles(const Sample& operand, int index, const Broadcast& broadcast, int64_t volume, DType type,
                           Arena& arena)
    : broadcast_(broadcast),
      strides_(broadcast.strides[index]),
      data_(operand.as<const uint8_t>()),
      size_(dtype_size(operand.dtype)),
      tile_size_(dtype_size(type)),
      conversion_(find_conversion(operand.dtype, type)),
      period_(broadcast.period(index)) {
  const bool whole = period_ == volume;
  direct_ = whole && !conversion_;
  if (direct_) return;
  const int64_t tile = std::min(volume, kTileSize);
  const bool expanded = !whole && period_ > 0 && period_ <= kTileSize;
  const int64_t elements = expanded ? tile + period_ : tile;
  tile_ = static_cast<uint8_t*>(arena.allocate(static_cast<size_t>(elements) * tile_size_));
  if (expanded) {
    expand(operand, elements);
    return;
  }
  period_ = 0;
  if (!whole)
    gathered_ = conversion_ ? static_cast<uint8_t*>(arena.allocate(static_cast<size_t>(tile) * size_)) : tile_;
}

// Fills the pattern's buffer, doubling what is there.
void OperandTiles::expand(const Sample& operand, int64_t elements) {
  if (conversion_)
    conversion_(operand.data, tile_, period_);
  else
    std::memcpy(tile_, operand.data, static_cast<size_t>(period_) * size_);
  for (int64_t have = period_; have < elements;) {
    const int64_t more = std::min(have, elements - have);
    std::memcpy(tile_ + static_cast<size_t>(have) * tile_size_, tile_, static_cast<size_t>(more) * tile_size_);
    have += more;
  }
}

const void* OperandTiles::at(int64_t offset, int64_t count) {
  if (direct_) return data_ + static_cast<size_t>(offset) * size_;
  if (period_ > 0) return tile_ + static_cast<size_t>(offset % period_) * tile_size_;
  if (!gathered_) return converted(data_ + static_cast<size_t>(offset) * size_, count);
  gather(offset, count);
  return converted(gathered_, count);
}

const void* OperandTiles::converted(const void* from, int64_t count) {
  if (!conversion_) return from;
  conversion_(from, tile_, count);
  return tile_;
}

void OperandTiles::gather(int64_t offset, int64_t count) {
  switch (size_) {
    case 1: return gather_as<uint8_t>(offset, count);
    case 2: return gather_as<uint16_t>(offset, count);
    case 4: return gather_as<uint32_t>(offset, count);
    default: return gather_as<uint64_t>(offset, count);
  }
}

template <typename Bits> void OperandTiles::gather_as(int64_t offset, int64_t count) {
  const int last = broadcast_.groups - 1;
  int64_t index[Broadcast::kMaxGroups] = {};
  const Bits* from = reinterpret_cast<const Bits*>(data_);
  for (int group = last; group >= 0; --group) {
    index[group] = offset % broadcast_.extents[group];
    offset /= broadcast_.extents[group];
    from += index[group] * strides_[group];
  }
  Bits* to = reinterpret_cast<Bits*>(gathered_);
  Bits* const end = to + count;
  const int64_t stride = strides_[last];
  while (to < end) {
    const int64_t run = std::min<int64_t>(broadcast_.extents[last] - index[last], end - to);
    for (int64_t i = 0; i < run; ++i) to[i] = from[i * stride];
    to += run;
    from -= index[last] * stride;
    index[last] = 0;
    for (int group = last - 1; group >= 0; --group) {
      from += strides_[group];
      if (++index[group] < broadcast_.extents[group]) break;
      from -= broadcast_.extents[group] * strides_[group];
      index[group] = 0;
    }
  }
}

}  // namespace headrace
