// Files: opening, mapping and reading through POSIX calls.
#include "io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace headrace {
namespace {

// Linux reads at most this many bytes in one call.
constexpr size_t kMaxRead = 0x7ffff000;

uint64_t regular_file_size(int descriptor, const std::string& path) {
  struct stat info;
  const int status = fstat(descriptor, &info);
  check(status == 0, "{}: cannot read the file's size: {}", path, strerror(errno));
  check(!S_ISDIR(info.st_mode), "{}: expected a file, got a directory", path);
  check(S_ISREG(info.st_mode), "{}: expected a regular file, got a pipe, socket or device", path);
  return static_cast<uint64_t>(info.st_size);
}

}  // namespace

File::File(std::string path) : path_(std::move(path)) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer; regular files ignore the flag.
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  check(descriptor_ >= 0, "{}: cannot open the file: {}", path_, strerror(errno));
  try {
    size_ = regular_file_size(descriptor_, path_);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

void File::read(uint64_t offset, std::span<uint8_t> out) const {
  check(offset <= size_ && out.size() <= size_ - offset,
        "{}: expected {} bytes at offset {}, but the file has {} bytes", path_, out.size(), offset, size_);
  while (!out.empty()) {
    const ssize_t got = pread(descriptor_, out.data(), std::min(out.size(), kMaxRead), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    check(got >= 0, "{}: cannot read {} bytes at offset {}: {}", path_, out.size(), offset, strerror(errno));
    check(got > 0, "{}: the file became shorter while it was read: {} bytes are missing at offset {}", path_,
          out.size(), offset);
    out = out.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
}

FileBytes::FileBytes(const std::string& path, FileAccess access) : path_(path) {
  const File file(path);
  const size_t size = file.size();
  if (size == 0) return;
  if (access == FileAccess::kRead) {
    copy_ = std::make_unique_for_overwrite<uint8_t[]>(size);
    file.read(0, {copy_.get(), size});
    bytes_ = {copy_.get(), size};
    return;
  }
  void* address = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  check(address != MAP_FAILED, "{}: cannot map {} bytes: {}; do read the file without mmap", path, size,
        strerror(errno));
  bytes_ = {static_cast<const uint8_t*>(address), size};
}

FileBytes::~FileBytes() {
  if (!bytes_.empty() && !copy_) munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})), copy_(std::move(other.copy_)) {}

void FileBytes::read_ahead() const {
  if (!bytes_.empty() && !copy_) madvise(const_cast<uint8_t*>(bytes_.data()), bytes_.size(), MADV_WILLNEED);
}

bool is_directory(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace headrace
