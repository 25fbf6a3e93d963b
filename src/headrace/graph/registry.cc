// Registry: adding and finding operators.
#include "graph/registry.h"

#include <algorithm>
#include <mutex>

namespace headrace {
namespace {

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Words of lower-case letters and digits that begin with a letter, joined by single underscores or dots.
bool is_operator_name(std::string_view name) {
  char before = '.';
  for (const char c : name) {
    const bool begins = before == '.' || before == '_';
    if (!(is_lower(c) || (!begins && (is_digit(c) || c == '_' || c == '.')))) return false;
    before = c;
  }
  return before != '.' && before != '_';
}

// `name` is the module `module`, or lies below it.
bool is_below(std::string_view name, std::string_view module) {
  return name.size() > module.size() && name.starts_with(module) && name[module.size()] == '.';
}

}  // namespace

void Registry::add(Schema schema, Factory factory) {
  const std::lock_guard lock(*mutex_);
  check_internal(!find_entry(schema.name()), "operator {} is registered twice", schema.name());
  entries_.push_back({std::move(schema), factory});
}

const Registry::Entry* Registry::find_entry(std::string_view name) const {
  const auto it =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.schema.name() == name; });
  return it == entries_.end() ? nullptr : &*it;
}

const Schema* Registry::find(std::string_view name) const {
  const std::shared_lock lock(*mutex_);
  const Entry* entry = find_entry(name);
  return entry ? &entry->schema : nullptr;
}

const Schema& Registry::get(std::string_view name) const {
  const Schema* schema = find(name);
  if (!schema) {
    fail(ErrorKind::kUnsupported, "headrace has no operator {}; if a library has it, load that first (load_plugin)",
         name);
  }
  return *schema;
}

std::unique_ptr<Operator> Registry::create(const OpSpec& spec) const {
  Factory factory = nullptr;
  {
    const std::shared_lock lock(*mutex_);
    const Entry* entry = find_entry(spec.schema->name());
    check_internal(entry, "operator {} is not registered", spec.schema->name());
    factory = entry->factory;
  }
  return factory(spec);
}

std::vector<const Schema*> Registry::schemas() const {
  const std::shared_lock lock(*mutex_);
  std::vector<const Schema*> schemas;
  schemas.reserve(entries_.size());
  for (const Entry& entry : entries_) schemas.push_back(&entry.schema);
  return schemas;
}

void Registry::absorb(Registry&& other, const std::vector<std::string>& reserved) {
  const std::scoped_lock lock(*mutex_, *other.mutex_);
  for (const Entry& entry : other.entries_) {
    const std::string& name = entry.schema.name();
    check_value(
        is_operator_name(name),
        "operator \"{}\": expected words of lower-case letters and digits, joined by underscores, below modules "
        "joined by dots, as in \"my.scale_add\"",
        name);
    check(!find_entry(name), "operator {} exists already: give it another name, or one in a module (\"my.{}\")", name,
          name);
    check(std::find(reserved.begin(), reserved.end(), name) == reserved.end(),
          "operator {}: headrace uses that name for something else: give it another one", name);
    for (const auto* entries : {&entries_, &other.entries_}) {
      for (const Entry& present : *entries) {
        const std::string& taken = present.schema.name();
        check(!is_below(name, taken) && !is_below(taken, name),
              "operators {} and {}: one name cannot be an operator and a module", name, taken);
      }
    }
  }
  for (Entry& entry : other.entries_) entries_.push_back(std::move(entry));
  other.entries_.clear();
}

}  // namespace headrace
