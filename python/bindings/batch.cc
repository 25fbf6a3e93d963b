// Batches: description, samples, dense views, DLPack.
#include "core/batch.h"

#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "gil.h"

namespace headrace::python {
namespace {

PyTensor tensor_of(const PyBatch& self, int64_t i) {
  if (i < 0 || i >= self.batch->size()) {
    fail(ErrorKind::kIndex, "sample {} of a batch of {}", i, self.batch->size());
  }
  return {(*self.batch)[static_cast<int>(i)], self.batch};
}

// All samples as one tensor; the batch axis is N in the layout.
PyTensor dense_tensor(const PyBatch& self) {
  Ref<Batch> dense = self.batch->dense();
  Sample sample;
  sample.dtype = dense->dtype();
  sample.data = dense->data();
  if (dense->size() > 0) {
    sample.shape = (*dense)[0].shape;
  } else {
    for (int axis = 0; axis < dense->ndim(); ++axis) sample.shape.push_back(0);
  }
  sample.shape.insert(0, dense->size());
  if (!dense->layout().empty()) {
    sample.layout = dense->layout();
    sample.layout.insert(0, 'N');
  }
  return {sample, dense};
}

bool is_contiguous(const Batch& batch) {
  for (int i = 1; i < batch.size(); ++i) {
    if (batch[i].as<uint8_t>() != batch[i - 1].as<uint8_t>() + batch[i - 1].bytes()) return false;
  }
  return true;
}

// The bytes of all samples, one behind the other, under another shape.
PyTensor reshaped(const PyBatch& self, nb::handle extents, std::string_view layout) {
  Ref<Batch> batch = self.batch;
  Sample sample;
  sample.dtype = batch->dtype();
  sample.shape = shape_from(extents);
  sample.layout = Layout(layout);
  check_value(layout.empty() || sample.layout.ndim() == sample.shape.ndim(),
              "layout \"{}\" has {} letters, but the tensor has {} axes", layout, layout.size(), sample.shape.ndim());
  int64_t volume = 0;
  for (int i = 0; i < batch->size(); ++i) volume += (*batch)[i].volume();
  check(sample.volume() == volume,
        "a tensor view must have as many elements as the batch: shape {} has {}, the batch {}", sample.shape,
        sample.volume(), volume);
  if (is_contiguous(*batch)) {
    sample.data = batch->data();
    return {sample, batch};
  }
  auto packed = make_ref<Batch>(import_pool(), 1);
  auto* to = static_cast<uint8_t*>(packed->claim(0, sample));
  for (int i = 0; i < batch->size(); ++i) {
    const Sample& from = (*batch)[i];
    to = std::copy_n(from.as<uint8_t>(), from.bytes(), to);
  }
  return {(*packed)[0], packed};
}

nb::list shapes(const PyBatch& self) {
  nb::list list;
  for (int i = 0; i < self.batch->size(); ++i) list.append(shape_tuple((*self.batch)[i].shape));
  return list;
}

// A batch of its own, so that neither the engine nor another output sees the change.
void describe(PyBatch& self, int dtype, std::string_view layout_text) {
  const auto type = static_cast<DType>(dtype);
  const Layout layout(layout_text);
  check_value(layout.empty() || layout.ndim() == self.batch->ndim(),
              "layout \"{}\" has {} letters, but the samples have {} axes", layout, layout.ndim(), self.batch->ndim());
  check(dtype_size(type) == dtype_size(self.batch->dtype()), "reinterpret: {} and {} differ in size",
        dtype_name(self.batch->dtype()), dtype_name(type));
  std::vector<Sample> samples;
  for (int i = 0; i < self.batch->size(); ++i) {
    samples.push_back((*self.batch)[i]);
    samples.back().dtype = type;
    samples.back().layout = layout;
  }
  const int ndim = self.batch->ndim();
  self.batch = self.batch->with_samples(std::move(samples));
  if (self.batch->size() == 0) self.batch->set_type(type, ndim, layout);
}

nb::object sample_ids(const PyBatch& self) {
  nb::list ids;
  if (!self.batch->rows) return nb::none();
  for (const SampleId& id : self.batch->rows->ids) ids.append(nb::make_tuple(id.epoch, id.position, id.index));
  return ids;
}

nb::object row_status(const PyBatch& self) {
  if (!self.batch->rows) return nb::none();
  const auto& status = self.batch->rows->status;
  return nb::bytes(reinterpret_cast<const char*>(status.data()), status.size());
}

void copy_to(const PyBatch& self, uintptr_t pointer) {
  const WithoutGil release;
  self.batch->copy_to(reinterpret_cast<uint8_t*>(pointer));
}

PyBatch broadcast(const PyTensor& tensor, int size) {
  check_value(size >= 0, "broadcast: expected a number of samples that is not negative, got {}", size);
  auto batch = make_ref<Batch>(import_pool(), size);
  batch->set_type(tensor.sample.dtype, tensor.sample.shape.ndim(), tensor.sample.layout);
  const auto owner = std::make_shared<Ref<Batch>>(tensor.batch);
  for (int i = 0; i < size; ++i) batch->set_view(i, tensor.sample, owner);
  return {batch};
}

void bind_contents(nb::class_<PyBatch>& batch) {
  batch.def("_tensor", &tensor_of, nb::arg("index"))
      .def("_dense_tensor", &dense_tensor, "One tensor with a leading batch axis; RuntimeError if ragged.")
      .def("_reshaped", &reshaped, nb::arg("shape"), nb::arg("layout"))
      .def("_copy_to", &copy_to, nb::arg("pointer"), "Writes all samples, one behind the other.")
      .def(
          "_data_ptr", [](const PyBatch& self) { return reinterpret_cast<uintptr_t>(self.batch->data()); },
          "Address of the first sample.")
      .def(
          "__dlpack__",
          [](const PyBatch& self, nb::handle, nb::handle max_version, nb::handle dl_device, nb::handle copy) {
            const PyTensor dense = dense_tensor(self);
            return export_dlpack(dense.sample, dense.batch, max_version, dl_device, copy);
          },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
          "A DLPack capsule of the whole batch with a leading batch axis; RuntimeError if the batch is ragged.")
      .def("__dlpack_device__", [](const PyBatch&) { return nb::make_tuple(1, 0); });
}

}  // namespace

void bind_batch(nb::module_& m) {
  nb::class_<PyBatch> batch(m, "Batch", "The samples of one iteration and one output, in CPU memory.");
  batch.def(nb::init<const PyBatch&>(), nb::arg("other"))
      .def(
          "__init__",
          [](PyBatch* self, nb::handle data, std::string_view layout, bool copy) {
            new (self) PyBatch{batch_from(data, layout, copy, import_pool())};
          },
          nb::arg("data").none(), nb::arg("layout"), nb::arg("copy"))
      .def("__len__", [](const PyBatch& self) { return self.batch->size(); })
      .def_prop_ro("_dtype", [](const PyBatch& self) { return static_cast<int>(self.batch->dtype()); })
      .def_prop_ro("_ndim", [](const PyBatch& self) { return self.batch->ndim(); })
      .def_prop_ro("_layout", [](const PyBatch& self) { return self.batch->layout().str(); })
      .def_prop_ro("_is_dense", [](const PyBatch& self) { return self.batch->is_uniform(); })
      .def("_shapes", &shapes)
      .def("_describe", &describe, nb::arg("dtype"), nb::arg("layout"), "Changes element type and layout.")
      .def(
          "_assign", [](PyBatch& self, const PyBatch& other) { self = other; }, nb::arg("other"))
      .def("_sample_ids", &sample_ids, "(epoch, position, index) of each row; None if no pipeline made the batch.")
      .def("_row_status", &row_status,
           "One byte per row: 0 good, 1 substituted, 2 zeroed, 3 padded; None as for sample ids.")
      .def_static("_broadcast", &broadcast, nb::arg("tensor"), nb::arg("size"));
  bind_contents(batch);
}

}  // namespace headrace::python
