// Tests of files: both ways of access against std::ofstream, and what isn't a readable file.
#include "io/file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <numeric>
#include <vector>

#include "io/test_folder.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<uint8_t> counting(size_t size) {
  std::vector<uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  return bytes;
}

class FileAccessTest : public testing::TestWithParam<FileAccess> {
 protected:
  TestFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(Access, FileAccessTest, testing::Values(FileAccess::kMap, FileAccess::kRead));

TEST_P(FileAccessTest, GivesTheWholeFile) {
  for (const size_t size : {0, 1, 4095, 4096, 100000}) {
    const std::vector<uint8_t> expected = counting(size);
    FileBytes first(folder_.write("file", expected), GetParam());
    const uint8_t* address = first.bytes().data();
    const FileBytes file = std::move(first);
    EXPECT_EQ(file.bytes().data(), address);
    EXPECT_TRUE(first.bytes().empty());
    EXPECT_EQ(std::vector<uint8_t>(file.bytes().begin(), file.bytes().end()), expected);
    file.read_ahead();
  }
}

TEST_P(FileAccessTest, NamesWhatIsNotAFile) {
  const auto error = [&](const std::string& path) { return error_of([&] { FileBytes(path, GetParam()); }); };
  EXPECT_THAT(error(folder_ / "missing"), AllOf(HasSubstr(folder_ / "missing"), HasSubstr("No such file")));
  EXPECT_THAT(error(folder_ / ""), AllOf(HasSubstr(folder_ / ""), HasSubstr("got a directory")));
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error(pipe), AllOf(HasSubstr(pipe), HasSubstr("got a pipe")));
}

TEST(File, ReadsAtOffsets) {
  const TestFolder folder;
  const File file(folder.write("file", counting(1000)));
  EXPECT_EQ(file.size(), 1000u);
  std::vector<uint8_t> out(10);
  file.read(990, out);
  EXPECT_EQ(out.front(), 990 % 256);
  EXPECT_EQ(out.back(), 999 % 256);
  file.read(1000, {});
  for (const uint64_t offset : {uint64_t{991}, uint64_t{1001}, ~uint64_t{0}})
    EXPECT_THAT(error_of([&] { file.read(offset, out); }), HasSubstr("the file has 1000 bytes"));
}

TEST(File, NoticesThatTheFileBecameShorter) {
  const TestFolder folder;
  const File file(folder.write("file", counting(1000)));
  folder.write("file", counting(500));
  std::vector<uint8_t> out(600);
  EXPECT_THAT(error_of([&] { file.read(0, out); }), HasSubstr("became shorter while it was read: 100 bytes"));
}

}  // namespace
}  // namespace headrace
