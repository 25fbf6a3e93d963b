// Bindings: what the files of this folder share. Each registers one concept with the module headrace._core.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "core/batch.h"
#include "graph/registry.h"

namespace headrace::python {

namespace nb = nanobind;

void bind_errors(nb::module_& m);
void bind_schema(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_tensor(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_executor(nb::module_& m);
void bind_records(nb::module_& m);
void bind_callbacks(nb::module_& m);
void bind_plugins(nb::module_& m);

// All operators: those of this build, and those of loaded libraries. Never destroyed, since batches may outlive the
// interpreter.
Registry& registry();

// What Python holds of a batch, and of one of its samples.
struct PyBatch {
  Ref<Batch> batch;
};
struct PyTensor {
  Sample sample;
  Ref<Batch> batch;  // keeps the memory
};

// Memory of batches that no pipeline made. Never destroyed.
const Ref<HostPool>& import_pool();

// A constant argument; the package converts values to the schema's type before, here their Python type decides.
ArgValue value_from(nb::handle value);

nb::tuple shape_tuple(const Shape& shape);
Shape shape_from(nb::handle extents);

// A C-contiguous writable view of the sample as a DLPack capsule; arguments as in the array API standard's __dlpack__.
nb::object export_dlpack(const Sample& sample, const Ref<Batch>& batch, nb::handle max_version, nb::handle dl_device,
                         nb::handle copy);

// A batch from Python objects. `data`: an array with a leading batch axis, a list of arrays, or batches and tensors of
// headrace. Copies unless `copy` is false and the memory is C-contiguous; then the objects are kept until the batch
// dies. `layout`: of one sample, may be empty.
Ref<Batch> batch_from(nb::handle data, std::string_view layout, bool copy, const Ref<HostPool>& pool);
// The same for one object as one sample.
Ref<Batch> batch_of_one(nb::handle data, std::string_view layout, bool copy, const Ref<HostPool>& pool);

// Keeps an object for the engine, as get(); may be dropped on any thread.
std::shared_ptr<void> own(nb::object object);

// Drops the Python objects of batches that died on threads without the interpreter. Call with the GIL held.
void drop_released_objects();

}  // namespace headrace::python
