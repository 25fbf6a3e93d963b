// Record files for the command line: reading and writing LMDBs, making and taking apart Caffe2 records.
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "gil.h"
#include "io/caffe.h"
#include "io/lmdb.h"
#include "io/lmdb_writer.h"

namespace headrace::python {
namespace {

std::span<const uint8_t> bytes_of(const nb::bytes& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.c_str()), bytes.size()};
}

nb::bytes to_bytes(std::span<const uint8_t> bytes) { return nb::bytes(bytes.data(), bytes.size()); }

nb::bytes caffe2_record(const nb::bytes& encoded_image, int32_t label) {
  return to_bytes(make_caffe2_record(bytes_of(encoded_image), label));
}

nb::tuple parse_caffe2(const nb::bytes& record) {
  Caffe2Options options;
  const Caffe2Record parsed = parse_caffe2_record(bytes_of(record), options);
  nb::object label;
  if (parsed.label_dtype == DType::kInt32) {
    int32_t value = 0;
    parsed.write_label(&value);
    label = nb::int_(value);
  } else {
    float value = 0;
    parsed.write_label(&value);
    label = nb::float_(value);
  }
  return nb::make_tuple(to_bytes(parsed.image.bytes), label);
}

void check_number(const LmdbTable& table, size_t i) {
  if (i >= table.size()) throw nb::index_error("record number out of range");
}

}  // namespace

void bind_records(nb::module_& m) {
  nb::class_<LmdbTable>(m, "LmdbTable", "The records of an LMDB in key order, read only and bounds-checked.")
      .def(nb::init<const std::string&>(), nb::arg("path"))
      .def("__len__", &LmdbTable::size)
      .def("key",
           [](const LmdbTable& table, size_t i) {
             check_number(table, i);
             return nb::bytes(table.key(i).data(), table.key(i).size());
           })
      .def("value", [](const LmdbTable& table, size_t i) {
        check_number(table, i);
        return to_bytes(table.value(i));
      });
  nb::class_<LmdbWriter>(m, "LmdbWriter", "Writes one new LMDB; keys come in ascending order.")
      .def(nb::init<std::string>(), nb::arg("folder"))
      .def("append",
           [](LmdbWriter& writer, const nb::bytes& key, const nb::bytes& value) {
             writer.append({key.c_str(), key.size()}, bytes_of(value));
           })
      .def("commit", &LmdbWriter::commit, nb::call_guard<WithoutGil>());
  m.def("caffe2_record", &caffe2_record, nb::arg("encoded_image"), nb::arg("label"),
        "The bytes of a Caffe2 record with an encoded image and an integer label.");
  m.def("parse_caffe2_record", &parse_caffe2, nb::arg("record"), "(image bytes, label) of a Caffe2 record.");
}

}  // namespace headrace::python
