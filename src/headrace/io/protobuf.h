// The protobuf wire format: a bounds-checked reader of fields and a writer, without generated code.
//
// Source of the format: protobuf.dev/programming-guides/encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace headrace {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// One field of a message as it stands on the wire.
struct ProtoField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;              // of a varint or fixed field, as unsigned bits
  std::span<const uint8_t> bytes;  // of a length-delimited field, inside the message
};

// Reads a message's fields one by one. A caller skips what it doesn't know by not looking at it.
class ProtoReader {
 public:
  explicit ProtoReader(std::span<const uint8_t> message)
      : begin_(message.data()), at_(message.data()), end_(message.data() + message.size()) {}

  // Reads the next field; false at the end of the message. Fails on a malformed field and on groups, which no format
  // in use has.
  bool next(ProtoField& field) {
    if (at_ == end_) return false;
    const uint64_t tag = varint();
    if (tag > UINT32_MAX || tag >> 3 == 0) malformed("a field number is out of range");
    field.number = static_cast<uint32_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    field.value = 0;
    field.bytes = {};
    switch (field.type) {
      case WireType::kVarint: field.value = varint(); break;
      case WireType::kFixed64: field.value = fixed(8); break;
      case WireType::kFixed32: field.value = fixed(4); break;
      case WireType::kBytes: field.bytes = bytes(); break;
      default: malformed("a group or an unknown kind of field");
    }
    return true;
  }

 private:
  uint64_t varint() {
    if (at_ != end_ && *at_ < 0x80) return *at_++;
    return long_varint();
  }
  uint64_t long_varint();
  uint64_t fixed(size_t bytes);
  std::span<const uint8_t> bytes() {
    const uint64_t length = varint();
    if (length > static_cast<size_t>(end_ - at_)) malformed("a field is longer than the message");
    const uint8_t* first = at_;
    at_ += length;
    return {first, at_};
  }
  [[noreturn]] void malformed(const char* what) const;

  const uint8_t* begin_;
  const uint8_t* at_;
  const uint8_t* end_;
};

// Reads the varints of a packed field one by one; `next` is false at the end and fails on one that is cut.
class PackedVarints {
 public:
  explicit PackedVarints(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool next(uint64_t& value);

 private:
  std::span<const uint8_t> bytes_;
};

// Appends fields to a message.
class ProtoWriter {
 public:
  void varint(uint32_t field, uint64_t value);
  // Negative numbers take ten bytes, as in protobuf's int32 and int64.
  void integer(uint32_t field, int64_t value) { varint(field, static_cast<uint64_t>(value)); }
  void float32(uint32_t field, float value);
  void bytes(uint32_t field, std::span<const uint8_t> value);
  void message(uint32_t field, const ProtoWriter& message) { bytes(field, message.data()); }

  const std::vector<uint8_t>& data() const { return data_; }
  std::vector<uint8_t> take() { return std::move(data_); }

 private:
  void raw_varint(uint64_t value);
  void tag(uint32_t field, WireType type) { raw_varint(uint64_t{field} << 3 | static_cast<uint8_t>(type)); }

  std::vector<uint8_t> data_;
};

}  // namespace headrace
