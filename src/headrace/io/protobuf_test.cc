// Tests of the protobuf wire reader and writer: bytes from the format's documentation, and damaged messages.
#include "io/protobuf.h"

#include <gmock/gmock.h>

#include <bit>

#include "io/test_folder.h"

namespace headrace {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

TEST(ProtoReader, ReadsTheExamplesOfTheFormat) {
  const Bytes message = {0x08, 0x96, 0x01,                                      // 1: 150
                         0x12, 0x07, 't',  'e',  's',  't',  'i',  'n',  'g',   // 2: "testing"
                         0x1d, 0x00, 0x00, 0x80, 0x3f,                          // 3: 1.0f
                         0x21, 0,    0,    0,    0,    0,    0,    0xf0, 0x3f,  // 4: 1.0
                         0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05,        // 6: packed 3, 270, 86942
                         0x80, 0x7d, 0x00};                                     // 2000: 0
  ProtoReader reader(message);
  ProtoField field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 1u);
  EXPECT_EQ(field.value, 150u);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(std::string(field.bytes.begin(), field.bytes.end()), "testing");
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.type, WireType::kFixed32);
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(field.value)), 1.0f);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.type, WireType::kFixed64);
  EXPECT_EQ(std::bit_cast<double>(field.value), 1.0);
  ASSERT_TRUE(reader.next(field));
  std::vector<uint64_t> numbers;
  uint64_t number;
  for (PackedVarints packed(field.bytes); packed.next(number);) numbers.push_back(number);
  EXPECT_EQ(numbers, (std::vector<uint64_t>{3, 270, 86942}));
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 2000u);
  EXPECT_FALSE(reader.next(field));
}

TEST(ProtoReader, ReadsWhatTheWriterWrites) {
  const uint64_t numbers[] = {0, 1, 127, 128, 16383, 16384, ~uint64_t{0}};
  ProtoWriter writer;
  for (const uint64_t number : numbers) writer.varint(5, number);
  writer.integer(6, -2);
  writer.float32(7, 2.5f);
  ProtoReader reader(writer.data());
  ProtoField field;
  for (const uint64_t number : numbers) {
    ASSERT_TRUE(reader.next(field));
    EXPECT_EQ(field.value, number);
  }
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(static_cast<int64_t>(field.value), -2);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.value, std::bit_cast<uint32_t>(2.5f));
  EXPECT_FALSE(reader.next(field));
}

TEST(ProtoReader, RefusesMalformedFields) {
  const struct {
    Bytes message;
    std::string expected;
  } cases[] = {
      {{0x08}, "a number is cut"},
      {{0x08, 0x80}, "a number is cut"},
      {Bytes(11, 0xff), "too long"},
      {{0x1d, 0, 0, 0}, "a number is cut at byte 1"},
      {{0x21, 0, 0, 0, 0, 0, 0, 0}, "a number is cut"},
      {{0x12, 2, 'a'}, "longer than the message"},
      {{0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, "longer than the message"},
      {{0x00, 1}, "field number"},
      {{0x80, 0x80, 0x80, 0x80, 0x10, 1}, "field number"},
      {{0x0b, 0x0c}, "a group"},
      {{0x0f}, "unknown kind"},
  };
  for (const auto& c : cases) {
    ProtoField field;
    EXPECT_THAT(error_of([&] {
                  for (ProtoReader reader(c.message); reader.next(field);) continue;
                }),
                HasSubstr(c.expected));
  }
  uint64_t number;
  const Bytes cut = {0x80};
  EXPECT_THAT(error_of([&] { PackedVarints(cut).next(number); }), HasSubstr("packed number"));
}

}  // namespace
}  // namespace headrace
