// The protobuf wire format: decoding and encoding of varints, fixed and length-delimited fields.
#include "io/protobuf.h"

#include <array>
#include <bit>
#include <cstring>

#include "core/error.h"

namespace headrace {
namespace {

// Moves `at` behind a varint and gives its value; false if it is cut by `end` or longer than 64 bits need.
bool read_varint(const uint8_t*& at, const uint8_t* end, uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 70 && at != end; shift += 7) {
    const uint8_t byte = *at++;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

}  // namespace

void ProtoReader::malformed(const char* what) const {
  fail(ErrorKind::kRuntime, "[protobuf] not a valid message of {} bytes: {} at byte {}", end_ - begin_, what,
       at_ - begin_);
}

uint64_t ProtoReader::long_varint() {
  uint64_t value;
  if (!read_varint(at_, end_, value)) malformed("a number is cut or too long");
  return value;
}

uint64_t ProtoReader::fixed(size_t bytes) {
  if (static_cast<size_t>(end_ - at_) < bytes) malformed("a number is cut");
  static_assert(std::endian::native == std::endian::little);
  uint64_t value = 0;
  std::memcpy(&value, at_, bytes);
  at_ += bytes;
  return value;
}

bool PackedVarints::next(uint64_t& value) {
  if (bytes_.empty()) return false;
  const uint8_t* at = bytes_.data();
  const uint8_t* end = at + bytes_.size();
  check(read_varint(at, end, value), "[protobuf] not a valid message: a packed number is cut or too long");
  bytes_ = {at, end};
  return true;
}

void ProtoWriter::raw_varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) data_.push_back(static_cast<uint8_t>(value | 0x80));
  data_.push_back(static_cast<uint8_t>(value));
}

void ProtoWriter::varint(uint32_t field, uint64_t value) {
  tag(field, WireType::kVarint);
  raw_varint(value);
}

void ProtoWriter::float32(uint32_t field, float value) {
  tag(field, WireType::kFixed32);
  const auto bits = std::bit_cast<std::array<uint8_t, 4>>(value);
  data_.insert(data_.end(), bits.begin(), bits.end());
}

void ProtoWriter::bytes(uint32_t field, std::span<const uint8_t> value) {
  tag(field, WireType::kBytes);
  raw_varint(value.size());
  data_.insert(data_.end(), value.begin(), value.end());
}

}  // namespace headrace
