// Decoding the Huffman-coded blocks of a scan. Compiled per target for the shifts of BMI2, not for vectors.
#include "codecs/jpeg/entropy.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_DISABLED_TARGETS (HEADRACE_SKIPPED_TARGETS | HWY_SSE4 | HWY_AVX3)
#define HWY_TARGET_INCLUDE "codecs/jpeg/entropy.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::jpeg {
namespace HWY_NAMESPACE {

constexpr unsigned kBlockSize = 64;
constexpr unsigned kBadBlock = kBlockSize + 1;

// Offset in a group of the coefficient before the k-th, as AcTable counts; from 65 on the room behind the group.
constexpr std::array<uint16_t, 256> make_places(const std::array<uint8_t, 64>& zigzag) {
  std::array<uint16_t, 256> places{};
  for (size_t k = 0; k < places.size(); ++k) {
    const bool inside = k >= 1 && k <= 64;
    const int at = inside ? zigzag[k - 1] : 0;
    places[k] = static_cast<uint16_t>(inside ? at / 8 * kGroupRow + at % 8 : 8 * kGroupRow);
  }
  return places;
}

HWY_INLINE void refill(EntropyState& s) {
  uint64_t word;
  std::memcpy(&word, s.next, sizeof word);
  if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
  s.buffer |= word >> s.count;
  s.next += (63 - s.count) >> 3;
  s.count |= 56;
}

HWY_INLINE void consume(EntropyState& s, unsigned bits) {
  s.buffer <<= bits & 63;
  s.count -= static_cast<int>(bits);
}

// Reads the value behind a code (T.81, F.2.2.1); size 1..15.
HWY_INLINE int take_value(EntropyState& s, unsigned size) {
  const auto bits = static_cast<int>(s.buffer >> (64 - size));
  const int negative = static_cast<int>(~s.buffer >> 63);
  consume(s, size);
  return bits - (-negative & ((1 << size) - 1));
}

// The DC difference; false if the bits are no code.
HWY_INLINE bool decode_dc(EntropyState& s, const DcTable& table, int& difference) {
  refill(s);
  const uint32_t entry = table.fast[s.buffer >> (64 - kDcBits)];
  if (entry != 0) {
    difference = static_cast<int32_t>(entry) >> 16;
    consume(s, entry & 0xff);
    return true;
  }
  const Symbol symbol = table.codes.find(static_cast<uint32_t>(s.buffer >> 48));
  if (symbol.length == 0) return false;
  consume(s, symbol.length);
  difference = symbol.value == 0 ? 0 : take_value(s, symbol.value);
  return true;
}

// One symbol by its code alone. Returns the number of the next coefficient; `value` belongs to the one before it.
HWY_INLINE unsigned step(EntropyState& s, const AcTable& table, Symbol symbol, unsigned k, int& value) {
  refill(s);
  if (symbol.length == 0) symbol = table.codes.find(static_cast<uint32_t>(s.buffer >> 48));
  if (symbol.length == 0) return kBadBlock;
  const unsigned size = symbol.value & 15u;
  const unsigned run = symbol.value >> 4;
  consume(s, symbol.length);
  value = size == 0 ? 0 : take_value(s, size);
  return k + (size == 0 && run != 15 ? kEndAdvance : run + 1);
}

// Decodes the AC coefficients into `block`; returns where it ends, as kEndAdvance says.
HWY_INLINE unsigned decode_ac(EntropyState& s, const AcTable& table, const uint16_t* places, int16_t* block) {
  unsigned k = 1;
  while (true) {
    refill(s);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {  // 44 bits at most
      const uint32_t entry = table.fast[s.buffer >> (64 - kAcBits)];
      const unsigned first = k + (entry >> 6 & 31);
      const unsigned last = k + (entry >> 11 & 127);
      if (last == k || (last >= kBlockSize && first >= kBlockSize)) [[unlikely]] {
        // No whole symbol; or one that fills the block, so that what follows is the next block's.
        Symbol symbol;
        if (last == k) symbol = {static_cast<uint8_t>(entry >> 18), static_cast<uint8_t>(entry >> 6 & 31)};
        int value = 0;
        k = step(s, table, symbol, k, value);
        block[places[k]] = static_cast<int16_t>(value);
        if (k >= kBlockSize) return k;
        break;
      }
      block[places[first]] = static_cast<int16_t>(static_cast<int32_t>(entry << 7) >> 25);
      block[places[last]] = static_cast<int16_t>(static_cast<int32_t>(entry) >> 25);
      consume(s, entry & 63);
      k = last;
      if (k >= kBlockSize) return k;
    }
  }
}

HWY_INLINE unsigned skip_ac(EntropyState& s, const AcTable& table, const uint32_t* skip) {
  unsigned k = 1;
  while (true) {
    refill(s);
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {  // 54 bits at most
      const uint32_t entry = skip[s.buffer >> (64 - kSkipBits)];
      const unsigned next = k + (entry >> 8);
      const bool inside = next < kBlockSize;
      const bool ended = next == kBlockSize || next - kSkipEndAdvance < kBlockSize;
      if (entry == 0 || !(inside || ended)) [[unlikely]] {
        int value;
        k = step(s, table, {}, k, value);
        if (k >= kBlockSize) return k;
        break;
      }
      consume(s, entry & 0xff);
      k = next;
      if (ended) return k == kBlockSize ? k : k - kSkipEndAdvance + kEndAdvance;
    }
  }
}

// The first ten coefficients lie in rows and columns 0 to 3.
HWY_INLINE uint8_t busy_until(unsigned k) {
  return static_cast<uint8_t>((k != 1 + kEndAdvance) + (k - kEndAdvance > 10) * 2);
}

HWY_INLINE bool is_bad(unsigned k) { return k > kBlockSize && k <= kEndAdvance; }

HWY_INLINE bool is_bad_dc(int value) { return value != static_cast<int16_t>(value); }

HWY_INLINE bool skip_block(EntropyState& s, const BlockPlan& block) {
  int difference = 0;
  if (!decode_dc(s, *block.dc, difference)) return false;
  int& dc = s.dc[static_cast<size_t>(block.component)];
  dc += difference;
  return !is_bad(skip_ac(s, *block.ac, block.ac->skip().data())) && !is_bad_dc(dc);
}

bool decode(EntropyState& state, const McuPlan& plan, const uint8_t* end, int first, int count,
            const CoefficientRun* runs) {
  static constexpr std::array<uint16_t, 256> kPlaces = make_places(kZigzag);
  EntropyState s = state;
  for (int i = first; i < first + count; ++i) {
    for (int b = 0; b < plan.blocks; ++b) {
      const BlockPlan& block = plan.block[static_cast<size_t>(b)];
      const CoefficientRun& run = runs[block.component];
      if (!run.groups) {
        if (!skip_block(s, block)) return false;
        continue;
      }
      int difference = 0;
      if (!decode_dc(s, *block.dc, difference)) return false;
      int& dc = s.dc[static_cast<size_t>(block.component)];
      dc += difference;
      const int x = i * block.blocks_across + block.x;
      const int group = block.y * run.groups_per_row + x / kGroupBlocks;
      int16_t* coefficients = run.groups + static_cast<ptrdiff_t>(group) * kGroupSize + x % kGroupBlocks * 8;
      coefficients[0] = static_cast<int16_t>(dc);
      const unsigned k = decode_ac(s, *block.ac, kPlaces.data(), coefficients);
      run.busy[group] |= busy_until(k);
      if (is_bad(k) || is_bad_dc(dc)) return false;
    }
    if (s.position() > end) return false;
  }
  state = s;
  return true;
}

// The same by decoding to nowhere.
bool skip_without_tables(EntropyState& state, const McuPlan& plan, const uint8_t* end, int count) {
  int16_t nowhere[kGroupSize];
  uint8_t busy = 0;
  CoefficientRun runs[kMaxComponents];
  std::fill_n(runs, kMaxComponents, CoefficientRun{nowhere, &busy, 0});
  McuPlan in_place = plan;
  for (BlockPlan& block : in_place.block) block.x = block.y = block.blocks_across = 0;
  return decode(state, in_place, end, 0, count, runs);
}

bool has_skip_tables(const McuPlan& plan) {
  return std::all_of(plan.block.begin(), plan.block.begin() + plan.blocks,
                     [](const BlockPlan& block) { return block.ac->has_skip(); });
}

bool skip(EntropyState& state, const McuPlan& plan, const uint8_t* end, int count) {
  // Making the tables takes longer than decoding so many MCUs.
  constexpr int kFew = 16;
  if (count <= kFew && !has_skip_tables(plan)) return skip_without_tables(state, plan, end, count);
  EntropyState s = state;
  for (int i = 0; i < count; ++i) {
    for (int b = 0; b < plan.blocks; ++b) {
      if (!skip_block(s, plan.block[static_cast<size_t>(b)])) return false;
    }
    if (s.position() > end) return false;
  }
  state = s;
  return true;
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace::jpeg
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::jpeg {

HWY_EXPORT(decode);
HWY_EXPORT(skip);

bool decode_mcus(EntropyState& state, const McuPlan& plan, const uint8_t* end, int first, int count,
                 const std::array<CoefficientRun, kMaxComponents>& runs) {
  return HWY_DYNAMIC_DISPATCH(decode)(state, plan, end, first, count, runs.data());
}

bool skip_mcus(EntropyState& state, const McuPlan& plan, const uint8_t* end, int count) {
  return HWY_DYNAMIC_DISPATCH(skip)(state, plan, end, count);
}

}  // namespace headrace::jpeg
#endif
