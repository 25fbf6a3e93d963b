// Look-up tables that decode Huffman codes together with the values behind them.
#include "codecs/jpeg/huffman.h"

#include <algorithm>

namespace headrace::jpeg {
namespace {

// The value that `size` bits stand for (T.81, F.2.2.1).
int extend(uint32_t bits, int size) {
  return size && bits < (1u << (size - 1)) ? static_cast<int>(bits) - (1 << size) + 1 : static_cast<int>(bits);
}

// The symbols whose codes lie in the first kSkipBits bits, by these bits.
class ShortCodes {
 public:
  explicit ShortCodes(const HuffmanSpec& spec) {
    size_t index = 0;
    size_t at = 0;
    for (size_t length = 1; length <= kSkipBits; ++length) {
      const size_t repeats = size_t{1} << (kSkipBits - length);
      for (int i = 0; i < spec.counts[length - 1]; ++i, at += repeats) {
        const Symbol symbol{spec.values[index++], static_cast<uint8_t>(length)};
        std::fill_n(symbols_.begin() + static_cast<ptrdiff_t>(at), repeats, symbol);
      }
    }
  }

  Symbol find(uint32_t bits16) const { return symbols_[bits16 >> (16 - kSkipBits)]; }

 private:
  std::array<Symbol, 1 << kSkipBits> symbols_{};
};

// What of a symbol lies in some known bits.
struct Reading {
  Symbol symbol;
  int size = 0;          // bits of the value
  unsigned advance = 0;  // as in AcTable
  int total() const { return symbol.length + size; }
};

// Reads an AC symbol from `bits16`, of which the first `known` count; length 0 if its code isn't known.
Reading read_ac(const ShortCodes& codes, uint32_t bits16, int known) {
  Reading reading{codes.find(bits16)};
  if (reading.symbol.length > known) reading.symbol = {};
  reading.size = reading.symbol.value & 15;
  const unsigned run = reading.symbol.value >> 4;
  reading.advance = reading.size == 0 && run != 15 ? kEndAdvance : run + 1;
  return reading;
}

int value_of(const Reading& reading, uint32_t bits16) {
  const uint32_t mask = (1u << reading.size) - 1;
  return extend(bits16 >> (16 - reading.total()) & mask, reading.size);
}

bool fits_entry(int value) { return value >= -64 && value < 64; }

uint32_t ac_entry(const ShortCodes& codes, uint32_t bits16) {
  const Reading first = read_ac(codes, bits16, kAcBits);
  const auto symbol = static_cast<uint32_t>(first.symbol.length) << 6 | static_cast<uint32_t>(first.symbol.value) << 18;
  if (first.symbol.length == 0 || first.total() > kAcBits) return symbol;
  const int value = value_of(first, bits16);
  if (!fits_entry(value)) return symbol;
  int total = first.total();
  unsigned advance = first.advance;
  int last = value;
  if (first.advance != kEndAdvance) {
    const uint32_t rest = bits16 << total & 0xffff;
    const Reading second = read_ac(codes, rest, kAcBits - total);
    if (second.symbol.length != 0 && total + second.total() <= kAcBits && fits_entry(value_of(second, rest))) {
      last = value_of(second, rest);
      total += second.total();
      advance += second.advance;
    }
  }
  const unsigned first_advance = first.advance == kEndAdvance ? 1 : first.advance;
  return static_cast<uint32_t>(total) | first_advance << 6 | advance << 11 |
         (static_cast<uint32_t>(value) & 127) << 18 | static_cast<uint32_t>(last) << 25;
}

uint32_t skip_entry(const ShortCodes& codes, uint32_t bits16) {
  int total = 0;
  unsigned advance = 0;
  while (total < kSkipBits) {
    const Reading next = read_ac(codes, bits16 << total & 0xffff, kSkipBits - total);
    if (next.symbol.length == 0) break;
    total += next.total();
    const bool ends = next.advance == kEndAdvance;
    advance += ends ? kSkipEndAdvance : next.advance;
    if (ends) break;
  }
  return advance << 8 | static_cast<uint32_t>(total);
}

bool build(DcTable& table) {
  if (!table.codes.build(table.spec)) return false;
  for (const uint8_t size : table.spec.values) {
    if (size > 15) return false;
  }
  const ShortCodes codes(table.spec);
  for (uint32_t i = 0; i < table.fast.size(); ++i) {
    const uint32_t bits16 = i << (16 - kDcBits);
    Reading reading{codes.find(bits16)};
    reading.size = reading.symbol.value;
    const bool whole = reading.symbol.length != 0 && reading.total() <= kDcBits;
    const auto value = whole ? static_cast<uint16_t>(value_of(reading, bits16)) : 0;
    table.fast[i] = whole ? static_cast<uint32_t>(value) << 16 | static_cast<uint32_t>(reading.total()) : 0;
  }
  return true;
}

bool build(AcTable& table) {
  if (!table.codes.build(table.spec)) return false;
  const ShortCodes codes(table.spec);
  for (uint32_t i = 0; i < table.fast.size(); ++i) table.fast[i] = ac_entry(codes, i << (16 - kAcBits));
  return true;
}

template <typename Table>
Table* find_or_build(std::vector<std::unique_ptr<Table>>& tables, const HuffmanSpec& spec, size_t kept) {
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const auto& t) { return t->spec == spec; });
  if (found != tables.end()) {
    std::rotate(tables.begin(), found, found + 1);
    return tables.front().get();
  }
  auto table = std::make_unique<Table>();
  table->spec = spec;
  if (!build(*table)) return nullptr;
  if (tables.size() == kept) tables.pop_back();
  tables.insert(tables.begin(), std::move(table));
  return tables.front().get();
}

}  // namespace

bool CanonicalCodes::build(const HuffmanSpec& spec) {
  values_ = spec.values;
  uint32_t code = 0;
  uint32_t index = 0;
  for (size_t length = 1; length <= 16; ++length) {
    const uint32_t count = spec.counts[length - 1];
    offset_[length] = index - code;
    code += count;
    index += count;
    if (code >= 1u << length) return false;  // no code is all ones (T.81, annex C)
    limit_[length] = code << (16 - length);
    code <<= 1;
  }
  return true;
}

const std::array<uint32_t, 1 << kSkipBits>& AcTable::skip() {
  if (!skip_) {
    skip_ = std::make_unique<std::array<uint32_t, 1 << kSkipBits>>();
    const ShortCodes short_codes(spec);
    for (uint32_t i = 0; i < skip_->size(); ++i) (*skip_)[i] = skip_entry(short_codes, i << (16 - kSkipBits));
  }
  return *skip_;
}

DcTable* TableCache::dc(const HuffmanSpec& spec) { return find_or_build(dc_, spec, kKept); }

AcTable* TableCache::ac(const HuffmanSpec& spec) { return find_or_build(ac_, spec, kKept); }

}  // namespace headrace::jpeg
