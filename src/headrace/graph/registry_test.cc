// Registry: taking over operators of another one, all or none; look-ups while operators are added.
#include "graph/registry.h"

#include <gtest/gtest.h>

#include <thread>

namespace headrace {
namespace {

class Dummy : public Operator {
 public:
  explicit Dummy(const OpSpec&) {}
};

void add(Registry& registry, std::initializer_list<const char*> names) {
  for (const char* name : names) registry.add<Dummy>(Schema(name));
}

std::vector<std::string> names_of(const Registry& registry) {
  std::vector<std::string> names;
  for (const Schema* schema : registry.schemas()) names.push_back(schema->name());
  return names;
}

TEST(Registry, AbsorbsAllOperatorsOfAnother) {
  Registry registry, other;
  add(registry, {"crop", "readers.file"});
  const Schema* crop = registry.find("crop");
  add(other, {"readers.mine", "my.deep.op2"});
  registry.absorb(std::move(other));
  EXPECT_EQ(names_of(registry), (std::vector<std::string>{"crop", "readers.file", "readers.mine", "my.deep.op2"}));
  EXPECT_EQ(registry.find("crop"), crop);
  OpSpec spec;
  spec.schema = &registry.get("my.deep.op2");
  EXPECT_NE(dynamic_cast<Dummy*>(registry.create(spec).get()), nullptr);
}

TEST(Registry, AbsorbsNoneIfOneIsWrong) {
  for (const char* bad : {"crop", "crop.mine", "readers", "first.below", "reserved", "Upper", "a..b", ".a", "a.",
                          "a__b", "_a", "a_", "1a", "a b", "a_1", ""}) {
    Registry registry, other;
    add(registry, {"crop", "readers.file"});
    add(other, {"first", bad, "last"});
    EXPECT_THROW(registry.absorb(std::move(other), {"reserved"}), Error) << bad;
    EXPECT_EQ(names_of(registry), (std::vector<std::string>{"crop", "readers.file"})) << bad;
  }
}

TEST(Registry, NamesWhatIsMissing) {
  const Registry registry;
  EXPECT_EQ(registry.find("crop"), nullptr);
  try {
    registry.get("crop");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    EXPECT_NE(error.message().find("no operator crop"), std::string::npos);
  }
}

TEST(Registry, OperatorsAreFoundWhileOthersAreAdded) {
  Registry registry;
  add(registry, {"crop"});
  std::thread adder([&] {
    for (int i = 0; i < 1000; ++i) registry.add<Dummy>(Schema("op" + std::to_string(i)));
  });
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(registry.get("crop").name(), "crop");
  adder.join();
  EXPECT_EQ(registry.schemas().size(), 1001u);
}

}  // namespace
}  // namespace headrace
