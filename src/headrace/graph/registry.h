// Registry: the operators by name, with their schemas and factories.
#pragma once

#include <deque>
#include <memory>
#include <string_view>

#include "graph/operator.h"

namespace headrace {

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
  std::unique_ptr<Operator> create(const OpSpec& spec) const;

  struct Entry {
    Schema schema;
    Factory factory;
  };
  const std::deque<Entry>& entries() const { return entries_; }

 private:
  std::deque<Entry> entries_;  // a deque, so that schemas stay where they are
};

// Every operator of the build; the table is generated from the folders of ops/ (cmake/add_ops.cmake).
void register_all_ops(Registry& registry);

}  // namespace headrace
