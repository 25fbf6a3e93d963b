// Plugin loader: the stamp in the file, the library, its operators; each step says what is wrong.
#include "graph/plugin_loader.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>

#include "graph/plugin.h"

namespace headrace {
namespace {

constexpr PluginStamp kStamp = plugin_stamp();

// An open library, closed again unless it is kept.
class Library {
 public:
  Library(const std::string& path, int flags) : handle_(dlopen(path.c_str(), flags)) {}
  ~Library() {
    if (handle_) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  void* get() const { return handle_; }
  void keep() { handle_ = nullptr; }

 private:
  void* handle_;
};

std::string describe(const PluginStamp& stamp) {
  const auto text = [](const auto& letters) {
    return std::string(letters.data(), strnlen(letters.data(), letters.size()));
  };
  return fmt::format("headrace {} (headers {}, fmt {}, {})", text(stamp.version), text(stamp.headers), stamp.fmt,
                     text(stamp.library));
}

// Nothing where the file has none.
std::optional<PluginStamp> find_stamp(const std::string& bytes) {
  const size_t at = bytes.find(std::string_view(kStamp.magic.data(), kStamp.magic.size()));
  if (at == std::string::npos || bytes.size() - at < sizeof(PluginStamp)) return std::nullopt;
  PluginStamp stamp;
  std::memcpy(&stamp, bytes.data() + at, sizeof stamp);
  return stamp;
}

std::string read_file(const std::string& path) {
  struct stat status {};
  check(stat(path.c_str(), &status) == 0, "load_plugin: {}: there is no such file", path);
  check(S_ISREG(status.st_mode), "load_plugin: {}: expected a shared library, got a folder or a device", path);
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  check(file.is_open() && !file.bad(), "load_plugin: {}: the file cannot be read", path);
  return bytes;
}

// All segments are in the file: the process would die while the system loads one that was cut. A library of another
// kind of machine passes; the system refuses it.
bool is_whole(const std::string& bytes) {
  ElfW(Ehdr) header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.e_phentsize != sizeof(ElfW(Phdr))) return true;
  for (size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    const size_t at = header.e_phoff + i * sizeof segment;
    if (at > bytes.size() || bytes.size() - at < sizeof segment) return false;
    std::memcpy(&segment, bytes.data() + at, sizeof segment);
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_offset > bytes.size() || bytes.size() - segment.p_offset < segment.p_filesz) return false;
  }
  return true;
}

void check_file(const std::string& path) {
  const std::string bytes = read_file(path);
  check(bytes.starts_with("\x7f"
                          "ELF"),
        "load_plugin: {}: expected a shared library, got a file of another kind", path);
  check(is_whole(bytes), "load_plugin: {}: the library is cut off, at {} bytes", path, bytes.size());
  const std::optional<PluginStamp> stamp = find_stamp(bytes);
  check(
      stamp.has_value(),
      "load_plugin: {}: no library of operators for headrace: it has no HEADRACE_PLUGIN. A library made for DALI must "
      "be built against headrace's headers, as docs/custom_operators.md says",
      path);
  check(stamp->headers == kStamp.headers && stamp->library == kStamp.library && stamp->fmt == kStamp.fmt,
        "load_plugin: {}: built against {}, but this is {}: build it again against the headers of this one "
        "(headrace.sysconfig.get_include_dir())",
        path, describe(*stamp), describe(kStamp));
}

// A library finds headrace's functions in the global scope, where Python doesn't put what it imports.
void make_engine_visible() {
  Dl_info engine{};
  const auto* here = reinterpret_cast<const void*>(&load_plugin);
  check_internal(dladdr(here, &engine) != 0, "load_plugin: the engine's own library is not known to the system");
  check_internal(dlopen(engine.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL), "load_plugin: {}", dlerror());
}

// Runs the library's function on a registry of its own. The exception may be the library's too: its text alone leaves.
void collect(void* library, Registry& staged, const std::string& path) {
  using Entry = void (*)(Registry&);
  const auto entry = reinterpret_cast<Entry>(dlsym(library, kPluginEntry));
  check(entry, "load_plugin: {}: no library of operators for headrace: it has no function {}", path, kPluginEntry);
  std::string failure;
  try {
    entry(staged);
    return;
  } catch (...) {
    failure = current_error().message();
  }
  fail(ErrorKind::kRuntime, "load_plugin: {}: registering its operators failed: {}", path, failure);
}

}  // namespace

std::vector<std::string> load_plugin(Registry& registry, const std::string& path, bool global_symbols,
                                     const std::vector<std::string>& reserved) {
  // Neither is destroyed, since the program may end on any thread.
  static auto& mutex = *new std::mutex;
  static auto& loaded = *new std::set<void*>;
  const std::lock_guard lock(mutex);
  check_file(path);
  make_engine_visible();
  Library library(path, RTLD_NOW | (global_symbols ? RTLD_GLOBAL : RTLD_LOCAL));
  if (!library.get()) fail(ErrorKind::kRuntime, "load_plugin: {}", dlerror());
  if (loaded.contains(library.get())) return {};
  Registry staged;
  collect(library.get(), staged, path);
  std::vector<std::string> names;
  for (const Schema* schema : staged.schemas()) names.push_back(schema->name());
  try {
    registry.absorb(std::move(staged), reserved);
  } catch (const Error& error) {
    fail(error.kind(), "load_plugin: {}: {}", path, error.message());
  }
  loaded.insert(library.get());
  library.keep();
  return names;
}

}  // namespace headrace
