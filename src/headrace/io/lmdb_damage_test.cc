// Tests of the LMDB walk on files that are cut, damaged, or no LMDB at all.
#include <gmock/gmock.h>

#include <cstring>
#include <random>
#include <vector>

#include "io/lmdb.h"
#include "io/lmdb_writer.h"
#include "io/test_folder.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using Image = std::vector<uint8_t>;

// A sound database of four levels with values inside the leaves and on overflow pages.
const Image& sound_image() {
  static const Image image = [] {
    const TestFolder folder;
    LmdbWriter writer(folder / "db");
    for (int i = 0; i < 1000; ++i) {
      std::string key = std::to_string(100000 + i) + std::string(390, 'k');
      writer.append(key, Image(i % 50 == 0 ? 9000 : i % 40, static_cast<uint8_t>(i)));
    }
    writer.commit();
    const FileBytes file(folder / "db/data.mdb");
    return Image(file.bytes().begin(), file.bytes().end());
  }();
  return image;
}

template <typename T> void store(Image& image, size_t offset, T value) {
  std::memcpy(image.data() + offset, &value, sizeof value);
}

template <typename T> T load(const Image& image, size_t offset) {
  T value;
  std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

// The offset of the meta page that counts.
size_t meta_offset(const Image& image) {
  return load<uint64_t>(image, 144) > load<uint64_t>(image, 4096 + 144) ? 0 : 4096;
}

// Opens the image and reads every byte that the table gives; an Error passes through.
void read_everything(const Image& image) {
  const LmdbTable table(image, "damaged.mdb");
  const uint8_t* end = image.data() + image.size();
  unsigned sum = 0;
  for (size_t i = 0; i < table.size(); ++i) {
    const auto value = table.value(i);
    ASSERT_TRUE(value.data() >= image.data() && value.data() <= end &&
                value.size() <= static_cast<size_t>(end - value.data()));
    for (const uint8_t byte : value) sum += byte;
    for (const char byte : table.key(i)) sum += static_cast<uint8_t>(byte);
  }
  volatile unsigned use = sum;
  (void)use;
}

TEST(LmdbDamage, SoundImageIsRead) {
  EXPECT_EQ(error_of([] { read_everything(sound_image()); }), "");
}

TEST(LmdbDamage, FileCutAtEachSixteenth) {
  const TestFolder folder;
  for (size_t i = 0; i < 16; ++i) {
    const Image cut(sound_image().begin(), sound_image().begin() + sound_image().size() * i / 16);
    const std::string path = folder.write("data.mdb", cut);
    for (const FileAccess access : {FileAccess::kMap, FileAccess::kRead})
      EXPECT_THAT(error_of([&] { LmdbTable(path, access); }),
                  AllOf(HasSubstr(path), HasSubstr(i == 0 ? "it has only 0 bytes" : "the file was cut")));
  }
  for (const size_t size : {1, 151, 152, 4095, 4096, 4096 + 151, 8191, 8192}) {
    const Image cut(sound_image().begin(), sound_image().begin() + size);
    EXPECT_NE(error_of([&] { read_everything(cut); }), "") << size;
  }
  const Image one_byte_missing(sound_image().begin(), sound_image().end() - 1);
  EXPECT_THAT(error_of([&] { read_everything(one_byte_missing); }), HasSubstr("the file was cut"));
}

TEST(LmdbDamage, FlippedBitsNeverLeaveTheFile) {
  std::mt19937 random(7);
  Image image = sound_image();
  int errors = 0;
  for (int round = 0; round < 4000; ++round) {
    const size_t page = random() % 4 == 0 ? random() % 2 : random() % (image.size() / 4096);
    const size_t offset = page * 4096 + random() % (random() % 4 == 0 ? 4096 : page < 2 ? 152 : 48);
    const auto bit = static_cast<uint8_t>(1u << random() % 8);
    image[offset] ^= bit;
    errors += error_of([&] { read_everything(image); }) != "";
    image[offset] ^= bit;
  }
  EXPECT_GT(errors, 1000);
}

TEST(LmdbDamage, MessagesSayWhatIsWrong) {
  const size_t meta = meta_offset(sound_image());
  const auto root = load<uint64_t>(sound_image(), meta + 128);
  const size_t root_at = root * 4096;
  const size_t first_node = root_at + load<uint16_t>(sound_image(), root_at + 16);
  const struct {
    const char* what;
    void (*damage)(Image&, size_t offset);
    size_t offset;
    std::string expected;
  } cases[] = {
      {"magic", [](Image& i, size_t at) { i[at] ^= 1; }, 16, "no meta page at byte 0"},
      {"second magic", [](Image& i, size_t at) { i[at] ^= 1; }, 4096 + 16, "no meta page at byte 4096"},
      {"version", [](Image& i, size_t at) { store(i, at, 999u); }, 20, "expected data format version 1, got 999"},
      {"page size", [](Image& i, size_t at) { store(i, at, 4097u); }, 40, "page size 4097"},
      {"depth", [](Image& i, size_t at) { store(i, at, uint16_t{99}); }, meta + 94, "tree of depth 99"},
      {"shallow", [](Image& i, size_t at) { --i[at]; }, meta + 94, "expected a leaf page"},
      {"more entries", [](Image& i, size_t at) { ++i[at]; }, meta + 120, "expected 1001 records, found 1000"},
      {"less entries", [](Image& i, size_t at) { --i[at]; }, meta + 120, "expected 999 records, found more"},
      {"root", [](Image& i, size_t at) { store(i, at, uint64_t{1} << 60); }, meta + 128, "it refers to 1 pages"},
      {"last page", [](Image& i, size_t at) { store(i, at, ~uint64_t{0}); }, meta + 136, "last page"},
      {"number", [](Image& i, size_t at) { ++i[at]; }, root_at, "it says it is page"},
      {"kind", [](Image& i, size_t at) { i[at] = 4; }, root_at + 10, "expected a branch page, got flags 0x4"},
      {"index", [](Image& i, size_t at) { store(i, at, uint16_t{15}); }, root_at + 12, "its index ends at 15"},
      {"node", [](Image& i, size_t at) { store(i, at, uint16_t{4090}); }, root_at + 16, "node 0 at offset 4090"},
      {"cycle", [](Image& i, size_t at) { store(i, at, uint32_t(at / 4096)); }, first_node, "expected"},
  };
  for (const auto& c : cases) {
    Image image = sound_image();
    c.damage(image, c.offset);
    EXPECT_THAT(error_of([&] { read_everything(image); }), AllOf(HasSubstr("damaged.mdb: "), HasSubstr(c.expected)))
        << c.what;
  }
}

// A sound database on one leaf page, which liblmdb only writes in the machine's own page size. Values go from the
// page's end down; `values` are the nodes in key order.
Image one_leaf(size_t page_size, const std::vector<std::pair<std::string, std::string>>& values) {
  Image image(3 * page_size);
  for (const size_t meta : {size_t{0}, page_size}) {
    store(image, meta, meta / page_size);
    store(image, meta + 10, uint16_t{8});
    store(image, meta + 16, 0xBEEFC0DEu);
    store(image, meta + 20, 1u);
    store(image, meta + 40, static_cast<uint32_t>(page_size));
    store(image, meta + 94, uint16_t{1});
    store(image, meta + 120, uint64_t{values.size()});
    store(image, meta + 128, uint64_t{2});
    store(image, meta + 136, uint64_t{2});
  }
  const size_t leaf = 2 * page_size;
  size_t upper = page_size;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& [key, value] = values[i];
    upper -= 8 + key.size() + value.size() + (key.size() + value.size()) % 2;
    store(image, leaf + 16 + 2 * i, static_cast<uint16_t>(upper));
    store(image, leaf + upper, static_cast<uint32_t>(value.size()));
    store(image, leaf + upper + 6, static_cast<uint16_t>(key.size()));
    std::memcpy(&image[leaf + upper + 8], key.data(), key.size());
    std::memcpy(&image[leaf + upper + 8 + key.size()], value.data(), value.size());
  }
  store(image, leaf, uint64_t{2});
  store(image, leaf + 10, uint16_t{2});
  store(image, leaf + 12, static_cast<uint16_t>(16 + 2 * values.size()));
  store(image, leaf + 14, static_cast<uint16_t>(upper));
  return image;
}

TEST(LmdbDamage, PageSizesOfOtherMachines) {
  for (const size_t page_size : {256, 512, 4096, 16384, 32768}) {
    const Image image = one_leaf(page_size, {{"a", "one"}, {"b", ""}, {"bb", "three"}});
    const LmdbTable table(image, "image");
    ASSERT_EQ(table.size(), 3u);
    EXPECT_EQ(table.key(2), "bb");
    EXPECT_EQ(std::string(table.value(2).begin(), table.value(2).end()), "three");
  }
}

TEST(LmdbDamage, KeysOutOfOrder) {
  for (const char* second : {"a", "b", ""}) {
    const Image image = one_leaf(512, {{"b", "1"}, {second, "2"}});
    EXPECT_THAT(error_of([&] { read_everything(image); }), HasSubstr("page 2: keys are not in ascending order"));
  }
}

TEST(LmdbDamage, ValueThatLeavesItsPage) {
  Image image = one_leaf(512, {{"a", "one"}});
  store(image, 2 * 512 + load<uint16_t>(image, 2 * 512 + 16), uint32_t{1000});
  EXPECT_THAT(error_of([&] { read_everything(image); }), HasSubstr("page 2 is damaged: a value of 1000 bytes"));
}

TEST(LmdbDamage, OverflowPageIsCheckedWhenItsValueIsRead) {
  Image image = sound_image();
  size_t page = 0;
  {
    const LmdbTable table(image, "image");
    page = static_cast<size_t>(table.value(0).data() - image.data()) - 16;
  }
  image[page + 10] = 2;
  const LmdbTable table(image, "image");
  EXPECT_THAT(error_of([&] { table.value(0); }),
              AllOf(HasSubstr("image: page"), HasSubstr("expected an overflow page")));
  EXPECT_EQ(table.value(1).size(), 1u);
}

TEST(LmdbDamage, OtherFilesAndFolders) {
  const TestFolder folder;
  EXPECT_THAT(error_of([&] { LmdbTable(folder / "missing"); }), HasSubstr("missing: cannot open the file"));
  EXPECT_THAT(error_of([&] { LmdbTable(folder / ""); }), HasSubstr("data.mdb: cannot open the file"));
  const std::string path = folder.write("text", Image(10000, 'x'));
  EXPECT_THAT(error_of([&] { LmdbTable{path}; }), AllOf(HasSubstr(path), HasSubstr("not an LMDB data file")));
}

}  // namespace
}  // namespace headrace
