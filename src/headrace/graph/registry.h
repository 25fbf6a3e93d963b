// Registry: the operators by name, with their schemas and factories.
#pragma once

#include <deque>
#include <memory>
#include <shared_mutex>
#include <string_view>
#include <vector>

#include "graph/operator.h"

namespace headrace {

// Thread safe: operators may be added while others are looked up. Schemas stay where they are.
class Registry {
 public:
  using Factory = std::unique_ptr<Operator> (*)(const OpSpec&);

  // Registers operator class Op, constructed from an OpSpec.
  template <typename Op> void add(Schema schema) {
    add(std::move(schema), [](const OpSpec& spec) -> std::unique_ptr<Operator> { return std::make_unique<Op>(spec); });
  }
  void add(Schema schema, Factory factory);

  // Null if there is none of that name.
  const Schema* find(std::string_view name) const;
  // kUnsupported if there is none.
  const Schema& get(std::string_view name) const;
  std::unique_ptr<Operator> create(const OpSpec& spec) const;

  // In the order in which they were added.
  std::vector<const Schema*> schemas() const;
  // Takes over the operators of another registry: all of them, or none if a name is malformed (kValue), taken, one of
  // `reserved`, or both an operator's and a module's (kRuntime). Words are of lower case, so that the classes below
  // `ops` have different names too.
  void absorb(Registry&& other, const std::vector<std::string>& reserved = {});

 private:
  struct Entry {
    Schema schema;
    Factory factory;
  };
  const Entry* find_entry(std::string_view name) const;

  std::unique_ptr<std::shared_mutex> mutex_ = std::make_unique<std::shared_mutex>();  // by pointer: movable
  std::deque<Entry> entries_;  // a deque, so that schemas stay where they are
};

// Every operator of the build; the table is generated from the folders of ops/ (cmake/add_ops.cmake).
void register_all_ops(Registry& registry);

}  // namespace headrace
