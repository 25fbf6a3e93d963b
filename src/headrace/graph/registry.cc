// Registry: adding and finding operators.
#include "graph/registry.h"

namespace headrace {

void Registry::add(Schema schema, Factory factory) {
  check_internal(!find(schema.name()), "operator {} is registered twice", schema.name());
  entries_.push_back({std::move(schema), factory});
}

const Schema* Registry::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.schema.name() == name) return &entry.schema;
  }
  return nullptr;
}

std::unique_ptr<Operator> Registry::create(const OpSpec& spec) const {
  for (const Entry& entry : entries_) {
    if (&entry.schema == spec.schema) return entry.factory(spec);
  }
  fail(ErrorKind::kInternal, "operator {} is not registered", spec.schema->name());
}

}  // namespace headrace
