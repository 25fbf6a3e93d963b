// What the image decoders share.
#include "ops/decoders/image_decoding.h"

namespace headrace {

void add_one(std::atomic<int64_t>& count) {
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::span<const uint8_t> encoded_bytes(const Sample& sample, std::string_view operator_name) {
  check(sample.dtype == DType::kUInt8 && sample.shape.ndim() == 1,
        "[{}]: expected an encoded file, uint8 with one axis, got {} of shape {}", operator_name,
        dtype_name(sample.dtype), sample.shape);
  check(sample.shape[0] > 0, "[{}]: the file is empty", operator_name);
  return {sample.as<const uint8_t>(), static_cast<size_t>(sample.shape[0])};
}

ImageDecoding::ImageDecoding(const OpSpec& spec) : name_(spec.schema->name()) {
  const int64_t color = spec.get_int("output_type");
  check(color >= 0 && color <= static_cast<int64_t>(ImageColor::kAny),
        "{}: expected RGB, BGR, GRAY, YCbCr or ANY_DATA, got {}", spec.about("output_type"), color);
  options_.color = static_cast<ImageColor>(color);
  options_.dtype = spec.get_dtype("dtype");
  check(is_image_dtype(options_.dtype), "{}: expected UINT8, INT8, UINT16, INT16, UINT32, INT32 or FLOAT, got {}",
        spec.about("dtype"), dtype_name(options_.dtype));
  options_.adjust_orientation = spec.get_bool("adjust_orientation");
  options_.use_fast_idct = spec.get_bool("use_fast_idct");
  GroupState* group = spec.group.get();
  if (!group || group->decoder_index_memory() == 0) return;
  indexes_ = group->share<EntropyIndexStore>(
      "entropy indexes", [&] { return std::make_shared<EntropyIndexStore>(*group, group->decoder_index_memory()); });
}

void ImageDecoding::declare(Schema& schema) {
  const char* device_memory = "No library that asks for it is used on a device.";
  const char* host_memory = "Decoders keep what memory they needed.";
  schema.devices({"cpu", "mixed"})
      .arg("output_type", ArgType::kImageType, static_cast<int64_t>(ImageType::kRGB),
           "Channels of the output: RGB, BGR, GRAY, YCbCr, or ANY_DATA, the channels that the file has. Alpha is "
           "dropped "
           "without blending, but for ANY_DATA.")
      .arg("dtype", ArgType::kDType, static_cast<int64_t>(DType::kUInt8),
           "Type of the output: UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT. Values are scaled to the type's "
           "range, "
           "floats to 0..1.")
      .arg("adjust_orientation", ArgType::kBool, true, "Turn and mirror the image as its EXIF data says.")
      .arg("use_fast_idct", ArgType::kBool, false, "JPEG: a quicker inverse transform that is off by some levels.")
      .ignored_arg("jpeg_fancy_upsampling", ArgType::kBool, "Chroma is always upsampled smoothly, on every device.")
      .ignored_arg("affine", ArgType::kBool, "Threads belong to the executor.")
      .ignored_arg("hw_decoder_load", ArgType::kFloat, "No hardware decoder is used.")
      .ignored_arg("hybrid_huffman_threshold", ArgType::kInt, "Where an image is entropy decoded is not a choice.")
      .ignored_arg("device_memory_padding", ArgType::kInt, device_memory)
      .ignored_arg("device_memory_padding_jpeg2k", ArgType::kInt, device_memory)
      .ignored_arg("host_memory_padding", ArgType::kInt, host_memory)
      .ignored_arg("host_memory_padding_jpeg2k", ArgType::kInt, host_memory)
      .ignored_arg("preallocate_width_hint", ArgType::kInt, host_memory)
      .ignored_arg("preallocate_height_hint", ArgType::kInt, host_memory)
      .ignored_arg("memory_stats", ArgType::kBool, "Pipeline.statistics() tells what memory is used.")
      .ignored_arg("split_stages", ArgType::kBool, "DALI ignores it as well.")
      .ignored_arg("use_chunk_allocator", ArgType::kBool, "DALI ignores it as well.");
}

void ImageDecoding::infer(SampleContext& ctx, Plan& plan) const {
  plan.header = read_image_header(encoded_bytes(ctx.input(0), name_));
  plan.roi.reset();
  describe(ctx, decoded_image_shape(plan.header, options_));
}

void ImageDecoding::describe(SampleContext& ctx, const Shape& shape) const {
  Sample& out = ctx.output(0);
  out.dtype = options_.dtype;
  out.shape = shape;
  out.layout = "HWC";
  out.source = ctx.input(0).source;
}

void ImageDecoding::restrict(SampleContext& ctx, Plan& plan, const ImageRegion& roi) {
  plan.roi = roi;
  ctx.output(0).shape[0] = roi.height;
  ctx.output(0).shape[1] = roi.width;
}

void ImageDecoding::run(SampleContext& ctx) const {
  const Sample& out = ctx.output(0);
  if (out.volume() == 0) return;
  std::optional<ImageRegion> roi = ctx.plan<Plan>().roi;
  if (out.region) {
    const Region& part = *out.region;
    const ImageRegion whole = roi.value_or(ImageRegion{});
    roi = ImageRegion{.x = whole.x + static_cast<int>(part.begin[1]),
                      .y = whole.y + static_cast<int>(part.begin[0]),
                      .width = static_cast<int>(part.end[1] - part.begin[1]),
                      .height = static_cast<int>(part.end[0] - part.begin[0])};
  }
  decode(ctx, roi, out.data);
}

void ImageDecoding::decode(SampleContext& ctx, const std::optional<ImageRegion>& roi, void* out) const {
  ImageDecodeOptions options = options_;
  options.roi = roi;
  const Sample& in = ctx.input(0);
  auto& state = ctx.worker_state<ImageDecoderState>();
  const std::span bytes(in.as<const uint8_t>(), in.bytes());
  const ImageHeader& header = ctx.plan<Plan>().header;
  const bool is_part = roi && int64_t{roi->width} * roi->height < int64_t{header.width} * header.height;
  Fingerprint key;
  if (indexes_ && is_part && header.format == ImageFormat::kJpeg) {
    key = fingerprint_of(bytes);
    state.index.known = indexes_->find(key);
    state.index.found.clear();
    options.index = &state.index;
    if (!state.index.known.empty()) add_one(state.counts.index_hits);
  }
  const ImageDecoderNumber decoder = state.decoder.decode(bytes, header, options, out);
  if (options.index) indexes_->add(key, state.index);
  add_one(state.counts.decoded[static_cast<size_t>(decoder)]);
}

std::unique_ptr<WorkerState> ImageDecoding::make_worker_state() const {
  const std::lock_guard lock(counts_mutex_);
  return std::make_unique<ImageDecoderState>(counts_.emplace_back());
}

std::vector<std::pair<std::string_view, int64_t>> ImageDecoding::counters() const {
  std::vector<std::pair<std::string_view, int64_t>> counters;
  const std::lock_guard lock(counts_mutex_);
  for (size_t decoder = 0; decoder < kImageDecoders; ++decoder) {
    int64_t images = 0;
    for (const ImageCounts& worker : counts_) images += worker.decoded[decoder].load(std::memory_order_relaxed);
    if (images > 0) counters.emplace_back(image_decoder_name(static_cast<ImageDecoderNumber>(decoder)), images);
  }
  if (indexes_ && indexes_->images() > 0) {
    int64_t hits = 0;
    for (const ImageCounts& worker : counts_) hits += worker.index_hits.load(std::memory_order_relaxed);
    counters.insert(counters.end(),
                    {{"index_hits", hits}, {"index_images", indexes_->images()}, {"index_bytes", indexes_->bytes()}});
  }
  return counters;
}

int64_t ImageDecoding::sum(std::atomic<int64_t> ImageCounts::*count) const {
  const std::lock_guard lock(counts_mutex_);
  int64_t total = 0;
  for (const ImageCounts& worker : counts_) total += (worker.*count).load(std::memory_order_relaxed);
  return total;
}

}  // namespace headrace
