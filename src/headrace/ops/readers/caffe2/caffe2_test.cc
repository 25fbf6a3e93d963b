// Records of one and several databases, written with liblmdb; records that are damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/caffe.h"
#include "io/lmdb_writer.h"
#include "io/protobuf.h"
#include "io/test_folder.h"
#include "ops/op_tester.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

// A TensorProto: data_type 1 FLOAT, 2 INT32, 4 STRING, as Caffe2's schema numbers them.
ProtoWriter int_tensor(std::initializer_list<int> values) {
  ProtoWriter t;
  t.integer(2, 2);
  for (const int v : values) t.integer(4, v);
  return t;
}

ProtoWriter float_tensor(std::initializer_list<float> values) {
  ProtoWriter t;
  t.integer(2, 1);
  for (const float v : values) t.float32(3, v);
  return t;
}

ProtoWriter image_tensor(const Bytes& bytes) {
  ProtoWriter t;
  t.integer(2, 4);
  t.bytes(6, bytes);
  return t;
}

Bytes record(std::initializer_list<ProtoWriter> tensors) {
  ProtoWriter all;
  for (const ProtoWriter& t : tensors) all.message(1, t);
  return all.take();
}

std::string write(const TestFolder& folder, const std::string& name, const std::vector<Bytes>& records) {
  LmdbWriter writer(folder / name);
  for (size_t i = 0; i < records.size(); ++i) writer.append("k" + std::to_string(i), records[i]);
  writer.commit();
  return folder / name;
}

SampleId index(int64_t i) { return {.epoch = 0, .position = i, .index = i}; }

TEST(Caffe2Reader, ReadsDatabasesOneAfterTheOther) {
  const TestFolder folder;
  const std::string a = write(folder, "a", {make_caffe2_record(Bytes{1, 2, 3}, 7), make_caffe2_record(Bytes{4}, -1)});
  const std::string b = write(folder, "b", {make_caffe2_record(Bytes{5, 6}, 1000000)});
  for (const bool no_mapping : {false, true}) {
    OpTester op("readers.caffe2", {{"path", std::vector<std::string>{a, b}}, {"dont_use_mmap", no_mapping}});
    ASSERT_EQ(dynamic_cast<Reader&>(op.op()).size(), 3);
    auto out = op.run({}, {}, index(0));
    EXPECT_EQ(out[0].shape, Shape({3}));
    EXPECT_THAT(out[0].values<uint8_t>(), ElementsAre(1, 2, 3));
    EXPECT_EQ(out[1].shape, Shape({1}));
    EXPECT_THAT(out[1].values<int32_t>(), ElementsAre(7));
    EXPECT_EQ(out[0].source.name(), a + " at key k0");
    EXPECT_EQ(out[1].source.name(), "");
    EXPECT_THAT(op.run({}, {}, index(1))[1].values<int32_t>(), ElementsAre(-1));
    out = op.run({}, {}, index(2));
    EXPECT_THAT(out[0].values<uint8_t>(), ElementsAre(5, 6));
    EXPECT_THAT(out[1].values<int32_t>(), ElementsAre(1000000));
    EXPECT_EQ(out[0].source.name(), b + " at key k0");
  }
}

TEST(Caffe2Reader, GivesEveryPartAskedFor) {
  const TestFolder folder;
  const std::string path = write(folder, "a",
                                 {record({image_tensor({9}), int_tensor({2, 0}), float_tensor({0.5f, 0.25f}),
                                          float_tensor({1, 2, 3}), int_tensor({10, 20, 30, 40})})});
  OpTester op("readers.caffe2",
              {{"path", path}, {"label_type", 3}, {"num_labels", 4}, {"additional_inputs", 1}, {"bbox", true}});
  const auto out = op.run({}, {}, index(0));
  ASSERT_EQ(out.size(), 4U);
  EXPECT_THAT(out[0].values<uint8_t>(), ElementsAre(9));
  EXPECT_THAT(out[1].values<float>(), ElementsAre(0.25f, 0, 0.5f, 0));
  EXPECT_THAT(out[2].values<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(out[3].values<int32_t>(), ElementsAre(10, 20, 30, 40));
}

TEST(Caffe2Reader, LeavesOutImageOrLabel) {
  const TestFolder folder;
  const std::string labels = write(folder, "a", {record({int_tensor({5, 6})})});
  OpTester dense("readers.caffe2", {{"path", labels}, {"image_available", false}, {"label_type", 2}});
  const auto out = dense.run({}, {}, index(0));
  ASSERT_EQ(out.size(), 1U);
  EXPECT_THAT(out[0].values<int32_t>(), ElementsAre(5, 6));
  OpTester image("readers.caffe2", {{"path", write(folder, "b", {record({image_tensor({3})})})}, {"label_type", 4}});
  EXPECT_EQ(image.run({}, {}, index(0)).size(), 1U);
}

TEST(Caffe2Reader, NamesThePathThatCannotBeOpened) {
  const TestFolder folder;
  const std::string path = folder / "none";
  EXPECT_THAT(error_of([&] { OpTester("readers.caffe2", {{"path", path}}); }), HasSubstr(path));
  const std::string empty = write(folder, "empty", {});
  EXPECT_THAT(error_of([&] { OpTester("readers.caffe2", {{"path", empty}}); }), HasSubstr("with records"));
  EXPECT_THAT(error_of([&] {
                OpTester("readers.caffe2", {{"path", path}, {"label_type", 5}});
              }),
              HasSubstr("label_type: expected 0"));
}

TEST(Caffe2Reader, ReadsOnAfterADamagedRecord) {
  const TestFolder folder;
  const Bytes good = make_caffe2_record(Bytes{1}, 1);
  OpTester op("readers.caffe2", {{"path", write(folder, "a", {Bytes(good.begin(), good.end() - 2), good})}});
  EXPECT_NE(error_of([&] { op.run({}, {}, index(0)); }), "");
  EXPECT_THAT(op.run({}, {}, index(1))[1].values<int32_t>(), ElementsAre(1));
}

TEST(CaffeReader, ReadsImageAndLabel) {
  const TestFolder folder;
  const std::string path = write(folder, "a", {make_caffe_record(Bytes{1, 2}, 3)});
  OpTester op("readers.caffe", {{"path", path}});
  const auto out = op.run({}, {}, index(0));
  EXPECT_THAT(out[0].values<uint8_t>(), ElementsAre(1, 2));
  EXPECT_EQ(out[0].source.name(), path + " at key k0");
  EXPECT_THAT(out[1].values<int32_t>(), ElementsAre(3));
  OpTester label("readers.caffe", {{"path", path}, {"image_available", false}});
  EXPECT_THAT(label.run({}, {}, index(0))[0].values<int32_t>(), ElementsAre(3));
  EXPECT_THAT(error_of([&] {
                OpTester("readers.caffe", {{"path", path}, {"image_available", false}, {"label_available", false}});
              }),
              HasSubstr("at least one output"));
}

}  // namespace
}  // namespace headrace
