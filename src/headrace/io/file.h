// Files: read-only mappings, positioned reads, whole files. Nothing here knows what the bytes mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace headrace {

// How a reader gets at a file's bytes. A mapping is fastest, but if the file is cut while it is mapped, touching the
// missing part kills the process; files that may change, and most network file systems, want kRead.
enum class FileAccess { kMap, kRead };

// A regular file opened for positioned reads. Immutable and thread safe. Every error names the path.
class File {
 public:
  // Fails if `path` is missing, unreadable, or not a regular file.
  explicit File(std::string path);
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  // Bytes, as the file was when it was opened.
  uint64_t size() const { return size_; }
  // Fills `out` with the bytes from `offset` on; fails if the file ends before.
  void read(uint64_t offset, std::span<uint8_t> out) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// A whole file in memory, mapped or read. Immutable and thread safe; bytes() stays valid as long as the object, also
// when that is moved. An empty file gives an empty span.
class FileBytes {
 public:
  explicit FileBytes(const std::string& path, FileAccess access = FileAccess::kMap);
  ~FileBytes();
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&&) = delete;

  const std::string& path() const { return path_; }
  std::span<const uint8_t> bytes() const { return bytes_; }
  // Asks the kernel to load the whole file into its cache; returns at once.
  void read_ahead() const;

 private:
  std::string path_;
  std::span<const uint8_t> bytes_;
  std::unique_ptr<uint8_t[]> copy_;  // null: bytes_ is a mapping, or empty
};

bool is_directory(const std::string& path);

}  // namespace headrace
