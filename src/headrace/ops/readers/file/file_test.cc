// Folders, lists, filters and errors of readers.file, on files in a temporary folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/test_folder.h"
#include "ops/op_tester.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Strings = std::vector<std::string>;

// A data set with hidden, empty and deeper folders, names with blanks and UTF-8, a link and files of no interest.
class FileReaderTest : public testing::Test {
 protected:
  FileReaderTest() {
    for (const char* name : {"d/b/2.jpg", "d/b/10.jpg", "d/b/1.JPG", "d/a b/ü x.png", "d/a b/z.txt", "d/A/q.jpg",
                             "d/.hid/h.jpg", "d/c/sub/n.jpg", "d/top.jpg", "d/e/x.gif"}) {
      const std::filesystem::path path = folder_ / name;
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << name;
    }
    std::filesystem::create_symlink(folder_ / "d/b/2.jpg", folder_ / "d/b/ln.jpg");
    root_ = folder_ / "d";
  }

  // "name:label" of all records; checks that the contents are those of the file.
  Strings read_all(const ArgMap& args) {
    OpTester op("readers.file", args);
    Strings all;
    for (int64_t i = 0; i < dynamic_cast<Reader&>(op.op()).size(); ++i) {
      const auto out = op.run({}, {}, {.epoch = 0, .position = i, .index = i});
      EXPECT_EQ(out[1].shape, Shape({1}));
      all.push_back(out[0].source.name() + ":" + std::to_string(out[1].values<int32_t>()[0]));
      contents_.push_back(std::string(out[0].bytes.begin(), out[0].bytes.end()));
    }
    return all;
  }

  std::string list(const std::string& text) const {
    return folder_.write("list.txt", {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }

  TestFolder folder_;
  std::string root_;
  Strings contents_;
};

TEST_F(FileReaderTest, NumbersSortedFolders) {
  EXPECT_THAT(read_all({{"file_root", root_}}), ElementsAre(".hid/h.jpg:0", "A/q.jpg:1", "a b/ü x.png:2", "b/1.JPG:3",
                                                            "b/10.jpg:3", "b/2.jpg:3", "b/ln.jpg:3"));
  EXPECT_EQ(contents_.back(), "d/b/2.jpg");
  EXPECT_EQ(contents_[2], "d/a b/ü x.png");
}

TEST_F(FileReaderTest, Filters) {
  const auto with = [&](const Strings& files, bool sensitive) {
    return read_all({{"file_root", root_ + "/"}, {"file_filters", files}, {"case_sensitive_filter", sensitive}});
  };
  EXPECT_THAT(with({"*.gif"}, false), ElementsAre("e/x.gif:5"));
  EXPECT_THAT(with({"[12].jpg", "*.none"}, false), ElementsAre("b/1.JPG:3", "b/2.jpg:3"));
  EXPECT_THAT(with({"?.jpg"}, true), ElementsAre(".hid/h.jpg:0", "A/q.jpg:1", "b/2.jpg:3"));
  EXPECT_THAT(read_all({{"file_root", root_}, {"dir_filters", Strings{"a*", "C"}}}),
              ElementsAre("A/q.jpg:0", "a b/ü x.png:1"));
}

TEST_F(FileReaderTest, Files) {
  EXPECT_THAT(read_all({{"files", Strings{"b/2.jpg", "A/q.jpg"}}, {"file_root", root_}}),
              ElementsAre("b/2.jpg:0", "A/q.jpg:1"));
  const std::string absolute = root_ + "/b/2.jpg";
  EXPECT_THAT(read_all({{"files", absolute}, {"labels", -5}}), ElementsAre(absolute + ":-5"));
}

TEST_F(FileReaderTest, FileList) {
  const std::string path = list("d/b/2.jpg 3\r\n\n   \nd/a b/ü x.png\t -7  \nd/A/q.jpg 2147483647");
  EXPECT_THAT(read_all({{"file_list", path}}), ElementsAre("d/b/2.jpg:3", "d/a b/ü x.png:-7", "d/A/q.jpg:2147483647"));
  list("2.jpg 1\n");
  EXPECT_THAT(read_all({{"file_list", path}, {"file_root", root_ + "/b"}}), ElementsAre("2.jpg:1"));
}

TEST_F(FileReaderTest, SaysWhatIsWrong) {
  const struct {
    ArgMap args;
    std::string message;
  } cases[] = {
      {{}, "file_root: expected a folder"},
      {{{"file_root", root_ + "/none"}}, "cannot list folder"},
      {{{"file_root", root_}, {"file_filters", Strings{"*.zip"}}}, "match; found none"},
      {{{"file_root", root_}, {"file_filters", Strings{}}}, "file_filters: expected at least one"},
      {{{"file_root", root_}, {"labels", 1}}, "labels: expected only together with files"},
      {{{"files", Strings{}}}, "files: expected file names"},
      {{{"files", Strings{"a"}}, {"labels", std::vector<int64_t>{1, 2}}}, "labels: expected a label for each of 1"},
      {{{"files", Strings{"a"}}, {"file_list", std::string("b")}}, "files: expected files or file_list"},
      {{{"files", Strings{"a"}}, {"shuffle_after_epoch", true}, {"random_shuffle", true}}, "without random_shuffle"},
      {{{"files", Strings{"a"}}, {"shuffle_after_epoch", true}, {"stick_to_shard", true}}, "without stick_to_shard"},
      {{{"file_list", folder_ / "none.txt"}}, "none.txt"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(error_of([&] { OpTester("readers.file", c.args); }), HasSubstr(c.message));
  }
  for (const char* line : {"a", "a 3x", "a 3.5", " 3", "a 99999999999"}) {
    const std::string path = list(std::string("x 1\n") + line + "\n");
    EXPECT_THAT(error_of([&] { OpTester("readers.file", {{"file_list", path}}); }), HasSubstr("list.txt:2: expected"));
  }
  OpTester op("readers.file", {{"files", Strings{"none.jpg"}}, {"file_root", root_}});
  EXPECT_THAT(error_of([&] { op.run({}); }), HasSubstr("none.jpg: No such file"));
}

TEST_F(FileReaderTest, EpochShuffleSeed) {
  const auto seed = [&](const ArgMap& more) {
    ArgMap args = more;
    args["file_root"] = root_;
    OpTester op("readers.file", args);
    return dynamic_cast<Reader&>(op.op()).epoch_shuffle_seed();
  };
  EXPECT_EQ(seed({}), -1);
  EXPECT_GE(seed({{"shuffle_after_epoch", true}}), 0);
  EXPECT_EQ(seed({{"shuffle_after_epoch", true}, {"shuffle_after_epoch_seed", 12}}), 12);
}

}  // namespace
}  // namespace headrace
