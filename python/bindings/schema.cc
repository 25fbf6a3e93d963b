// Schemas, read-only: what Python functions, stubs and documentation are made from.
#include <nanobind/stl/vector.h>

#include "bindings.h"

namespace headrace::python {
namespace {

nb::object to_python(const ArgValue& value) {
  return std::visit(
      [](const auto& v) -> nb::object {
        using Value = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<Value, std::monostate>) {
          return nb::none();
        } else if constexpr (std::is_same_v<Value, std::vector<bool>>) {
          nb::list list;
          for (const bool element : v) list.append(element);
          return list;
        } else {
          return nb::cast(v);
        }
      },
      value);
}

// The names of ArgType, in its order, as the Python package knows them.
constexpr const char* kTypeNames[] = {
    "bool",   "int",       "float",    "str",        "DALIDataType", "DALIImageType",     "DALIInterpType",
    "layout", "bool_list", "int_list", "float_list", "str_list",     "DALIDataType_list", "layout_list"};

nb::tuple input_of(const Schema& schema, int i) {
  const InputSpec& spec = schema.input_spec(i);
  return nb::make_tuple(schema.input_names()[i], spec.doc, spec.layouts, spec.optional);
}

nb::list inputs_of(const Schema& schema) {
  nb::list list;
  for (size_t i = 0; i < schema.input_names().size(); ++i) list.append(input_of(schema, static_cast<int>(i)));
  return list;
}

}  // namespace

void bind_schema(nb::module_& m) {
  nb::class_<ArgSpec>(m, "ArgSpec", "One argument of an operator.")
      .def_ro("name", &ArgSpec::name)
      .def_prop_ro("type", [](const ArgSpec& self) { return kTypeNames[static_cast<int>(self.type)]; })
      .def_prop_ro("default", [](const ArgSpec& self) { return to_python(self.default_value); })
      .def_ro("doc", &ArgSpec::doc)
      .def_prop_ro("per_sample", [](const ArgSpec& self) { return self.per_sample == PerSample::kAllowed; })
      .def_ro("required", &ArgSpec::required)
      .def_ro("renamed_to", &ArgSpec::renamed_to)
      .def_ro("ignored", &ArgSpec::ignored);

  nb::class_<Schema>(m, "Schema", "The declaration of an operator.")
      .def_prop_ro("name", &Schema::name)
      .def_prop_ro("doc", [](const Schema& self) { return self.doc(); })
      .def_prop_ro(
          "args", [](const Schema& self) { return nb::cast(self.args(), nb::rv_policy::copy); },
          nb::sig("def args(self) -> list[ArgSpec]"))
      .def_prop_ro("inputs", &inputs_of, nb::sig("def inputs(self) -> list[tuple[str, str, list[str], bool]]"),
                   "List of (name, doc, layouts, optional).")
      .def_prop_ro("min_inputs", &Schema::min_inputs)
      .def_prop_ro("max_inputs", &Schema::max_inputs)
      .def_prop_ro("devices", [](const Schema& self) { return self.devices(); })
      .def_prop_ro("is_random", &Schema::is_random)
      .def_prop_ro("is_reader", &Schema::is_reader)
      .def_prop_ro("is_fed", &Schema::is_fed)
      .def_prop_ro("has_side_effects", &Schema::has_side_effects)
      .def_prop_ro("deprecation", &Schema::deprecation)
      .def(
          "num_outputs",
          [](const Schema& self, const nb::dict& count_args) {
            ArgMap args;
            for (auto [key, value] : count_args) {
              const auto name = nb::cast<std::string>(key);
              const ArgSpec* spec = self.find_arg(name);
              if (spec) args[name] = convert_arg(value_from(value), spec->type, name);
            }
            return self.num_outputs(args);
          },
          nb::arg("args"), "Outputs of a node with these arguments.");

  m.def(
      "schemas",
      [] {
        nb::list list;
        for (const Schema* schema : registry().schemas()) list.append(nb::cast(schema, nb::rv_policy::reference));
        return list;
      },
      nb::sig("def schemas() -> list[Schema]"), "The schemas of all operators.");
}

}  // namespace headrace::python
