// decoders.image: encoded images to pixels, which a cache may keep for later epochs.
#include <cstring>
#include <limits>

#include "graph/registry.h"
#include "ops/decoders/decoded_cache.h"
#include "ops/decoders/image_decoding.h"

namespace headrace {
namespace {

struct Plan : ImageDecoding::Plan {
  Fingerprint key;
};

// The cache that the decoders of the group with the same arguments share; null without `cache_size`.
std::shared_ptr<DecodedCache> shared_cache(const OpSpec& spec, const ImageDecodeOptions& decoding) {
  const int64_t size = spec.get_int("cache_size"), threshold = spec.get_int("cache_threshold");
  const std::string& type = spec.get_string("cache_type");
  check(size >= 0 && size <= std::numeric_limits<int32_t>::max(), "{}: expected megabytes, 0 or more, got {}",
        spec.about("cache_size"), size);
  check(threshold >= 0, "{}: expected bytes, 0 or more, got {}", spec.about("cache_threshold"), threshold);
  check(type.empty() || type == "threshold" || type == "largest",
        "{}: expected \"threshold\" or \"largest\", got \"{}\"", spec.about("cache_type"), type);
  if (size == 0) return nullptr;
  const DecodedCacheOptions options{
      .threshold = threshold, .largest = type == "largest", .debug = spec.get_bool("cache_debug")};
  const std::string name =
      fmt::format("decoder cache: color {}, dtype {}, orientation {}, fast idct {}, threshold {}, largest {}, debug {}",
                  static_cast<int>(decoding.color), dtype_name(decoding.dtype), decoding.adjust_orientation,
                  decoding.use_fast_idct, options.threshold, options.largest, options.debug);
  auto cache =
      spec.group->share<DecodedCache>(name, [&] { return std::make_shared<DecodedCache>(*spec.group, options); });
  cache->add_share(size << 20);
  return cache;
}

// The part `region` of an image (H, W, C) of which `whole` has all.
void copy_region(const Sample& out, const Region& region, const uint8_t* whole) {
  const size_t pixel = static_cast<size_t>(out.shape[2]) * dtype_size(out.dtype);
  const size_t whole_row = static_cast<size_t>(out.shape[1]) * pixel;
  const size_t row = static_cast<size_t>(region.end[1] - region.begin[1]) * pixel;
  uint8_t* to = out.as<uint8_t>();
  for (int64_t y = region.begin[0]; y < region.end[0]; ++y, to += row) {
    std::memcpy(to, whole + static_cast<size_t>(y) * whole_row + static_cast<size_t>(region.begin[1]) * pixel, row);
  }
}

}  // namespace

class ImageDecoderOp final : public SampleOperator {
 public:
  explicit ImageDecoderOp(const OpSpec& spec)
      : decoding_(spec), name_(spec.schema->name()), cache_(shared_cache(spec, decoding_.options())) {}

  void infer(SampleContext& ctx) const override {
    Plan& plan = ctx.make_plan<Plan>();
    if (cache_) {
      plan.key = fingerprint_of(encoded_bytes(ctx.input(0), name_));
      const DecodedCache::Image* image = cache_->find(plan.key, ctx.input(0).source.index);
      ImageCounts& counts = ctx.worker_state<ImageDecoderState>().counts;
      add_one(image ? counts.cache_hits : counts.cache_misses);
      if (image) {
        decoding_.describe(ctx, {image->extents.height, image->extents.width, image->extents.channels});
        ctx.output(0).data = image->pixels;
        return;
      }
    }
    decoding_.infer(ctx, plan);
  }

  bool writes_regions() const override { return true; }

  void prefetch(const SampleId& soon, const SampleId& later) const override {
    if (cache_) cache_->prefetch(soon.index, later.index);
  }

  void run(SampleContext& ctx) const override {
    const Sample& out = ctx.output(0);
    const auto bytes = static_cast<int64_t>(out.bytes());
    if (!cache_ || !cache_->wants(ctx.plan<Plan>().key, bytes, ctx.id().epoch)) {
      decoding_.run(ctx);
    } else if (!out.region) {
      decoding_.run(ctx);
      keep(ctx, out.data);
    } else if (void* whole = ctx.arena().allocate(out.bytes()); decodes_whole(ctx, whole)) {
      keep(ctx, whole);
      copy_region(out, *out.region, static_cast<const uint8_t*>(whole));
    } else {
      decoding_.run(ctx);
    }
  }

  std::unique_ptr<WorkerState> make_worker_state() const override { return decoding_.make_worker_state(); }

  std::vector<std::pair<std::string_view, int64_t>> counters() const override {
    std::vector<std::pair<std::string_view, int64_t>> counters = decoding_.counters();
    if (!cache_) return counters;
    counters.insert(counters.end(), {{"cache_hits", decoding_.sum(&ImageCounts::cache_hits)},
                                     {"cache_misses", decoding_.sum(&ImageCounts::cache_misses)},
                                     {"cache_images", cache_->images()},
                                     {"cache_bytes", cache_->bytes()},
                                     {"cache_limit", cache_->limit()}});
    return counters;
  }

 private:
  void keep(SampleContext& ctx, const void* pixels) const {
    const Sample& out = ctx.output(0);
    const ImageExtents extents{static_cast<int32_t>(out.shape[0]), static_cast<int32_t>(out.shape[1]),
                               static_cast<int32_t>(out.shape[2])};
    cache_->insert(ctx.plan<Plan>().key, extents, pixels, static_cast<int64_t>(out.bytes()));
  }

  // False for a file that is damaged: the region that is asked for may still decode, as it does without a cache.
  bool decodes_whole(SampleContext& ctx, void* out) const {
    try {
      decoding_.decode(ctx, std::nullopt, out);
      return true;
    } catch (const Error& error) {
      if (is_fatal(error.kind())) throw;
      return false;
    }
  }

  ImageDecoding decoding_;
  std::string name_;
  std::shared_ptr<DecodedCache> cache_;
};

void register_decoders_image(Registry& r) {
  for (const char* name : {"decoders.image", "image_decoder", "experimental.decoders.image"}) {
    Schema schema(name);
    schema
        .doc(
            "Decodes JPEG, PNG, BMP, TIFF, PNM, WebP and JPEG 2000 files (by their content) to images (H, W, C), "
            "layout HWC. JPEG pixels are those of libjpeg-turbo. A damaged or cut file is an error, never a partial "
            "image.")
        .input("data", {.infer_reads_data = true, .doc = "The file's bytes, uint8 (n,)."});
    ImageDecoding::declare(schema);
    schema
        .arg("cache_size", ArgType::kInt, 0,
             "Decoded images are kept in memory up to so many megabytes (2^20 bytes of pixels), and taken from there "
             "when the same file comes again; 0: none. Decoders with the same arguments share a cache that is as large "
             "as theirs together, also those of all devices of an iterator.")
        .arg("cache_type", ArgType::kString, std::string(),
             "\"threshold\" (or nothing): images are kept as they come, until the cache is full. \"largest\": the "
             "largest images that fit; they are known after the first epoch, so the third one is the first that needs "
             "not decode them.")
        .arg("cache_threshold", ArgType::kInt, 0, "Only images of more than so many bytes are kept.")
        .arg("cache_debug", ArgType::kBool, false,
             "Log when the cache is full and what \"largest\" has chosen. Hits and misses are counted in "
             "Pipeline.statistics() in any case.")
        .ignored_arg("cache_batch_copy", ArgType::kBool, "Images are used where they lie in the cache.");
    if (schema.name() != "decoders.image") schema.deprecated("Use `decoders.image`.");
    r.add<ImageDecoderOp>(std::move(schema));
  }
}

}  // namespace headrace
