// readers.file: whole files with labels.
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "graph/registry.h"
#include "io/file.h"
#include "ops/readers/file_index.h"

namespace headrace {
namespace {

// The permutation of shuffle_after_epoch without a seed of its own: the same on all ranks.
constexpr int64_t kDefaultShuffleSeed = 0x5eed;

NameFilter make_filter(const OpSpec& spec, const char* arg) {
  std::vector<std::string> patterns = spec.get_strings(arg);
  check(!patterns.empty(), "{}: expected at least one pattern, got an empty list", spec.about(arg));
  return {std::move(patterns), spec.get_bool("case_sensitive_filter")};
}

FileIndex index_files(const OpSpec& spec) {
  const std::vector<std::string>& files = spec.get_strings("files");
  check(!files.empty(), "{}: expected file names, got an empty list", spec.about("files"));
  FileIndex index;
  if (spec.has("labels")) {
    const std::vector<int64_t>& labels = spec.get_ints("labels");
    check(labels.size() == files.size(), "{}: expected a label for each of {} files, got {}", spec.about("labels"),
          files.size(), labels.size());
    for (size_t i = 0; i < files.size(); ++i) index.add(files[i], static_cast<int32_t>(labels[i]));
  } else {
    for (size_t i = 0; i < files.size(); ++i) index.add(files[i], static_cast<int32_t>(i));
  }
  return index;
}

std::string get_root(const OpSpec& spec) { return spec.has("file_root") ? spec.get_string("file_root") : ""; }

FileIndex make_index(const OpSpec& spec) {
  const bool files = spec.has("files"), list = spec.has("file_list");
  check(!files || !list, "{}: expected files or file_list, got both", spec.about("files"));
  check(files || !spec.has("labels"), "{}: expected only together with files", spec.about("labels"));
  if (files) return index_files(spec);
  if (list) return read_file_list(spec.get_string("file_list"));
  const std::string root = get_root(spec);
  check(!root.empty(), "{}: expected a folder, or file_list, or files; got none of them", spec.about("file_root"));
  const NameFilter file_filter = make_filter(spec, "file_filters");
  if (!spec.has("dir_filters")) return list_labeled_folders(root, nullptr, file_filter);
  const NameFilter folder_filter = make_filter(spec, "dir_filters");
  return list_labeled_folders(root, &folder_filter, file_filter);
}

void check_not_empty(const OpSpec& spec, const FileIndex& index) {
  if (index.size() > 0) return;
  check(!spec.has("files"), "{}: expected at least one", spec.about("files"));
  if (spec.has("file_list")) {
    fail(ErrorKind::kRuntime, "{}: {} lists no files", spec.about("file_list"), spec.get_string("file_list"));
  }
  fail(ErrorKind::kRuntime,
       "{}: expected a folder for each class in {}, with files that file_filters match; found none",
       spec.about("file_root"), get_root(spec));
}

// What relative names are relative to, with a slash at the end; or empty.
std::string make_prefix(const OpSpec& spec) {
  std::string root = get_root(spec);
  if (root.empty() && spec.has("file_list")) {
    root = std::filesystem::path(spec.get_string("file_list")).parent_path().string();
  }
  if (!root.empty() && root.back() != '/') root += '/';
  return root;
}

}  // namespace

class FileReader final : public Reader {
 public:
  explicit FileReader(const OpSpec& spec) : prefix_(make_prefix(spec)) {
    try {
      index_ = make_index(spec);
    } catch (const Error& error) {
      if (error.message().starts_with('[')) throw;
      fail(error.kind(), "[{}]: {}", spec.schema->name(), error.message());
    }
    check_not_empty(spec, index_);
    if (spec.get_bool("shuffle_after_epoch")) {
      check(!spec.get_bool("random_shuffle"), "{}: expected without random_shuffle", spec.about("shuffle_after_epoch"));
      check(!spec.get_bool("stick_to_shard"), "{}: expected without stick_to_shard", spec.about("shuffle_after_epoch"));
      shuffle_seed_ = spec.has("shuffle_after_epoch_seed") ? spec.get_int("shuffle_after_epoch_seed") & INT64_MAX
                                                           : kDefaultShuffleSeed;
    }
  }

  int64_t size() const override { return index_.size(); }
  int64_t epoch_shuffle_seed() const override { return shuffle_seed_; }
  // The name as it is listed: relative to file_root.
  std::string source_name(int64_t index) const override { return std::string(index_.name(index)); }

  // Files are read, not mapped: setting up and tearing down a mapping costs more than copying a file of usual size, and
  // a file that is cut while it is mapped kills the process.
  void infer(SampleContext& ctx) const override {
    const int64_t index = ctx.id().index;
    const std::string path = full_path(index);
    struct stat status = {};
    const bool found = stat(path.c_str(), &status) == 0;
    check(found, "cannot read {}: {}", path, std::strerror(errno));
    check(S_ISREG(status.st_mode), "cannot read {}: it is not a file", path);
    Sample& file = ctx.output(0);
    file.dtype = DType::kUInt8;
    file.shape = {static_cast<int64_t>(status.st_size)};
    file.source = {this, index};
    ctx.output(1).dtype = DType::kInt32;
    ctx.output(1).shape = {1};
  }

  void run(SampleContext& ctx) const override {
    const int64_t index = ctx.id().index;
    const Sample& out = ctx.output(0);
    const File file(full_path(index));
    check(file.size() == out.bytes(), "{} changed while it was read: {} bytes became {}", file.path(), out.bytes(),
          file.size());
    file.read(0, {out.as<uint8_t>(), out.bytes()});
    *ctx.output(1).as<int32_t>() = index_.label(index);
  }

 private:
  std::string full_path(int64_t index) const {
    const std::string_view name = index_.name(index);
    if (name.starts_with('/')) return std::string(name);
    std::string path;
    path.reserve(prefix_.size() + name.size());
    return path.append(prefix_).append(name);
  }

  FileIndex index_;
  std::string prefix_;
  int64_t shuffle_seed_ = -1;
};

void register_readers_file(Registry& r) {
  const std::vector<std::string> extensions = {"*.jpg",  "*.jpeg", "*.png",  "*.bmp", "*.tif",
                                               "*.tiff", "*.pnm",  "*.ppm",  "*.pgm", "*.pbm",
                                               "*.jp2",  "*.webp", "*.flac", "*.ogg", "*.wav"};
  for (const char* name : {"readers.file", "file_reader"}) {
    Schema schema(name);
    schema
        .doc(
            "Reads files with labels. Outputs: the file's bytes, uint8 (n,), and the label, int32 (1,). What is read: "
            "`files`, or the lines of `file_list`, or the files in the folders of `file_root`, whose labels are the "
            "numbers of the folders in sorted order.")
        .reader()
        .outputs(2)
        .arg("file_root", ArgType::kString, {},
             "Folder with one folder for each class; or what the names in `files` and `file_list` are relative to "
             "(default for file_list: its own folder).")
        .arg("file_list", ArgType::kString, {}, "File with a line `name label` for each sample. Names may hold blanks.")
        .arg("files", ArgType::kStringList, {}, "Names of the files.")
        .arg("labels", ArgType::kIntList, {}, "A label for each of `files`; default: the position in the list.")
        .arg("file_filters", ArgType::kStringList, extensions, "Shell patterns of the files in `file_root` to read.")
        .arg("dir_filters", ArgType::kStringList, {}, "Shell patterns of the folders in `file_root`; default: all.")
        .arg("case_sensitive_filter", ArgType::kBool, false, "Whether patterns tell capitals from small letters.")
        .arg("shuffle_after_epoch", ArgType::kBool, false,
             "Permute the whole data set anew in each epoch, before it is cut into shards. Excludes random_shuffle "
             "and stick_to_shard.")
        .arg("shuffle_after_epoch_seed", ArgType::kInt, {},
             "Seed of these permutations; equal on all ranks. Default: a fixed one.");
    if (schema.name() != "readers.file") schema.deprecated("Use `readers.file`.");
    r.add<FileReader>(std::move(schema));
  }
}

}  // namespace headrace
