// Batches from Python objects: copies with the GIL released, or views that keep the objects.
#include <limits>
#include <vector>

#include "array_view.h"
#include "bindings.h"
#include "gil.h"

namespace headrace::python {
namespace {

constexpr int64_t kMaxBatch = std::numeric_limits<int>::max();
constexpr size_t kReleaseGilAbove = 64 << 10;  // bytes; a smaller copy is quicker than giving the GIL away

Sample describe(const ArrayView& view, const Layout& layout, int skip_axes) {
  Sample sample;
  sample.dtype = view.dtype();
  sample.layout = layout;
  sample.shape = Shape(std::span(view.shape().begin() + skip_axes, view.shape().end()));
  checked_volume(view.shape(), dtype_size(view.dtype()), "array");
  check_value(layout.empty() || layout.ndim() == sample.shape.ndim(),
              "layout \"{}\" has {} letters, but the samples have {} axes", layout, layout.ndim(), sample.shape.ndim());
  return sample;
}

void place(Batch& batch, int slot, Sample sample, const void* data, const std::shared_ptr<const void>& owner) {
  sample.data = const_cast<void*>(data);
  batch.set_view(slot, sample, owner);
}

template <typename Copy> void without_gil(size_t bytes, Copy copy) {
  if (bytes <= kReleaseGilAbove) return copy();
  const WithoutGil release;
  copy();
}

// An array whose first axis is the batch.
Ref<Batch> from_dense(const ArrayView& view, const Layout& layout, bool copy, const Ref<HostPool>& pool) {
  if (view.shape().ndim() == 0) {
    fail(ErrorKind::kRuntime, "batch: expected an array with a leading batch axis or a list of arrays, got a scalar");
  }
  check_value(view.shape()[0] <= kMaxBatch, "batch: expected at most {} samples, got {}", kMaxBatch, view.shape()[0]);
  const int size = static_cast<int>(view.shape()[0]);
  const Sample sample = describe(view, layout, 1);
  auto batch = make_ref<Batch>(pool, size);
  batch->set_type(sample.dtype, sample.shape.ndim(), layout);
  if (!copy && view.is_contiguous()) {
    const auto* data = static_cast<const uint8_t*>(view.data());
    for (int i = 0; i < size; ++i) {
      place(*batch, i, sample, data + static_cast<size_t>(i) * sample.bytes(), view.owner());
    }
    return batch;
  }
  for (int i = 0; i < size; ++i) batch->claim(i, sample);
  if (size > 0) without_gil(view.bytes(), [&] { view.copy_to((*batch)[0].data); });
  return batch;
}

Ref<Batch> from_views(const std::vector<ArrayView>& views, const Layout& layout, bool copy, const Ref<HostPool>& pool) {
  const int size = static_cast<int>(views.size());
  auto batch = make_ref<Batch>(pool, size);
  size_t bytes = 0;
  std::vector<void*> targets(views.size(), nullptr);
  for (int i = 0; i < size; ++i) {
    const Sample sample = describe(views[i], layout, 0);
    if (!copy && views[i].is_contiguous()) {
      place(*batch, i, sample, views[i].data(), views[i].owner());
    } else {
      targets[i] = batch->claim(i, sample);
      bytes += sample.bytes();
    }
  }
  without_gil(bytes, [&] {
    for (int i = 0; i < size; ++i) {
      if (targets[i]) views[i].copy_to(targets[i]);
    }
  });
  return batch;
}

Ref<Batch> from_list(nb::handle list, const Layout& layout, bool copy, const Ref<HostPool>& pool) {
  std::vector<ArrayView> views;
  views.reserve(nb::len(list));
  for (nb::handle element : list) {
    auto view = ArrayView::of(element);
    check(view.has_value(), "sample {} of the batch: expected an array or a tensor, got {}", views.size(),
          Py_TYPE(element.ptr())->tp_name);
    views.push_back(std::move(*view));
  }
  return from_views(views, layout, copy, pool);
}

Ref<Batch> from_batch(const Ref<Batch>& source, const Layout& layout, bool copy, const Ref<HostPool>& pool) {
  std::vector<Sample> samples;
  for (int i = 0; i < source->size(); ++i) {
    samples.push_back((*source)[i]);
    samples.back().source = Source();  // belongs to the pipeline that made the batch, which its user may outlive
    if (!layout.empty()) samples.back().layout = layout;
  }
  check_value(layout.empty() || samples.empty() || layout.ndim() == source->ndim(),
              "layout \"{}\" has {} letters, but the samples have {} axes", layout, layout.ndim(), source->ndim());
  if (!copy) return source->with_samples(std::move(samples));
  auto batch = make_ref<Batch>(pool, source->size());
  batch->set_type(source->dtype(), source->ndim(), layout.empty() ? source->layout() : layout);
  batch->keep_alive = source->keep_alive;
  const WithoutGil release;
  for (int i = 0; i < source->size(); ++i) {
    void* target = batch->claim(i, samples[i]);
    std::copy_n(samples[i].as<uint8_t>(), samples[i].bytes(), static_cast<uint8_t*>(target));
  }
  return batch;
}

}  // namespace

Ref<Batch> batch_from(nb::handle data, std::string_view layout_text, bool copy, const Ref<HostPool>& pool) {
  const Layout layout(layout_text);
  if (nb::isinstance<PyBatch>(data)) return from_batch(nb::cast<const PyBatch&>(data).batch, layout, copy, pool);
  if (PyList_Check(data.ptr()) || PyTuple_Check(data.ptr())) return from_list(data, layout, copy, pool);
  const auto view = ArrayView::of(data);
  check(view.has_value(), "batch: expected an array with a leading batch axis or a list of arrays, got {}",
        Py_TYPE(data.ptr())->tp_name);
  return from_dense(*view, layout, copy, pool);
}

Ref<Batch> batch_of_one(nb::handle data, std::string_view layout, bool copy, const Ref<HostPool>& pool) {
  auto view = ArrayView::of(data);
  if (!view) {
    fail(ErrorKind::kType, "expected an array, a buffer or an object with __dlpack__, got {}",
         Py_TYPE(data.ptr())->tp_name);
  }
  std::vector<ArrayView> views;
  views.push_back(std::move(*view));
  return from_views(views, Layout(layout), copy, pool);
}

}  // namespace headrace::python
