// The graph under construction.
#include "graph/graph.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"

namespace headrace::python {
namespace {

int64_t int_from(nb::handle value) {
  const int64_t number = PyLong_AsLongLong(value.ptr());
  if (number == -1 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

template <typename T, typename Convert> std::vector<T> list_from(nb::handle sequence, Convert convert) {
  std::vector<T> list;
  for (nb::handle element : sequence) list.push_back(convert(element));
  return list;
}

using EdgePair = std::pair<int, int>;

int add(Graph& self, std::string op, std::string name, std::string device, const std::vector<EdgePair>& inputs,
        nb::dict args, nb::dict tensor_args, uint64_t seed, std::string display_name, std::string origin) {
  Node node;
  node.op = std::move(op);
  node.name = std::move(name);
  node.device = std::move(device);
  for (const auto& [source, output] : inputs) node.inputs.push_back({source, output});
  for (auto [key, value] : args) node.args[nb::cast<std::string>(key)] = value_from(value);
  for (auto [key, value] : tensor_args) {
    const auto [source, output] = nb::cast<EdgePair>(value);
    node.tensor_args.emplace_back(nb::cast<std::string>(key), Edge{source, output});
  }
  node.seed = seed;
  node.display_name = std::move(display_name);
  node.origin = std::move(origin);
  return self.add(registry(), std::move(node));
}

nb::list nodes(const Graph& self) {
  nb::list list;
  for (const Node& node : self.nodes()) {
    nb::dict entry;
    entry["op"] = node.op;
    entry["name"] = node.name;
    entry["device"] = node.device;
    entry["num_outputs"] = node.num_outputs;
    list.append(entry);
  }
  return list;
}

}  // namespace

ArgValue value_from(nb::handle value) {
  if (value.is_none()) return std::monostate();
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
  if (PyLong_Check(value.ptr())) return int_from(value);
  if (PyFloat_Check(value.ptr())) return PyFloat_AsDouble(value.ptr());
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (!nb::isinstance<nb::list>(value)) {
    fail(ErrorKind::kInternal, "argument value of type {}", Py_TYPE(value.ptr())->tp_name);
  }
  if (nb::len(value) == 0) return std::vector<int64_t>();
  const nb::object first = value[0];
  if (nb::isinstance<nb::bool_>(first)) {
    return list_from<bool>(value, [](nb::handle e) { return nb::cast<bool>(e); });
  }
  if (PyLong_Check(first.ptr())) return list_from<int64_t>(value, int_from);
  if (PyFloat_Check(first.ptr())) {
    return list_from<double>(value, [](nb::handle e) { return nb::cast<double>(e); });
  }
  return list_from<std::string>(value, [](nb::handle e) { return nb::cast<std::string>(e); });
}

void bind_graph(nb::module_& m) {
  nb::class_<Graph>(m, "Graph", "Nodes and edges of a pipeline. An edge is a pair (node number, output number).")
      .def(nb::init<>())
      .def("add", &add, nb::arg("op"), nb::arg("name"), nb::arg("device"), nb::arg("inputs"), nb::arg("args"),
           nb::arg("tensor_args"), nb::arg("seed"), nb::arg("display_name"), nb::arg("origin"),
           "Appends a node and returns its number; checks it against the schema.")
      .def(
          "set_outputs",
          [](Graph& self, const std::vector<EdgePair>& outputs) {
            std::vector<Edge> edges;
            edges.reserve(outputs.size());
            for (const auto& [node, output] : outputs) edges.push_back({node, output});
            self.set_outputs(std::move(edges));
          },
          nb::arg("outputs"))
      .def(
          "validate", [](const Graph& self) { self.validate(registry()); }, "Raises if the graph cannot run.")
      .def("nodes", &nodes, "A dict per node: op, name, device, num_outputs.")
      .def("find", &Graph::find, nb::arg("name"), "The node of that instance name, or -1.")
      .def("outputs",
           [](const Graph& self) {
             std::vector<EdgePair> edges;
             for (const Edge edge : self.outputs()) edges.emplace_back(edge.node, edge.output);
             return edges;
           })
      .def("output_devices",
           [](const Graph& self) {
             std::vector<std::string> devices;
             for (const Edge edge : self.outputs()) devices.emplace_back(self.device_of(edge));
             return devices;
           })
      .def("to_json", &Graph::to_json)
      .def_static(
          "from_json", [](std::string_view text) { return Graph::from_json(registry(), text); }, nb::arg("text"))
      .def("to_dot", &Graph::to_dot, "Graphviz source.")
      .def("hash", &Graph::hash, "Hash of what determines the outputs.");
}

}  // namespace headrace::python
