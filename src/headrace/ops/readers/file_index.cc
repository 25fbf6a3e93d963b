// Listing folders and reading list files.
#include "ops/readers/file_index.h"

#include <dirent.h>
#include <fnmatch.h>
#include <strings.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "io/file.h"

namespace headrace {
namespace {

enum class EntryKind { kFile, kFolder };

// Names in `folder` of one kind, links followed.
std::vector<std::string> list(const std::string& folder, EntryKind wanted, const NameFilter* filter) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(folder.c_str()), closedir);
  check(directory != nullptr, "cannot list folder {}: {}", folder, std::strerror(errno));
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory.get())) {
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (filter && !filter->matches(name)) continue;
    bool is_folder = entry->d_type == DT_DIR, is_file = entry->d_type == DT_REG;
    if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
      struct stat status = {};
      if (stat((folder + "/" + name).c_str(), &status) != 0) continue;
      is_folder = S_ISDIR(status.st_mode);
      is_file = S_ISREG(status.st_mode);
    }
    if (wanted == EntryKind::kFolder ? is_folder : is_file) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

std::string_view without_blanks_at_end(std::string_view text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

void add_line(FileIndex& index, std::string_view line, const std::string& path, int64_t number) {
  line = without_blanks_at_end(line);
  if (line.empty()) return;
  size_t start = line.size();
  while (start > 0 && !is_blank(line[start - 1])) --start;
  const std::string_view word = line.substr(start);
  const std::string_view name = without_blanks_at_end(line.substr(0, start));
  int32_t label = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), label);
  check(!name.empty() && error == std::errc() && end == word.data() + word.size(),
        "{}:{}: expected a file name and an integer label of 32 bits, got \"{}\"", path, number, line);
  index.add(name, label);
}

}  // namespace

void FileIndex::add(std::string_view name, int32_t label) {
  names_ += name;
  ends_.push_back(names_.size());
  labels_.push_back(label);
}

NameFilter::NameFilter(std::vector<std::string> patterns, bool case_sensitive) : case_sensitive_(case_sensitive) {
  for (std::string& pattern : patterns) {
    const bool suffix = !pattern.empty() && pattern[0] == '*' && pattern.find_first_of("*?[\\", 1) == std::string::npos;
    if (suffix)
      suffixes_.push_back(pattern.substr(1));
    else
      patterns_.push_back(std::move(pattern));
  }
}

bool NameFilter::matches(const std::string& name) const {
  for (const std::string& suffix : suffixes_) {
    if (name.size() < suffix.size()) continue;
    const char* end = name.c_str() + (name.size() - suffix.size());
    if ((case_sensitive_ ? strcmp(end, suffix.c_str()) : strcasecmp(end, suffix.c_str())) == 0) return true;
  }
  const int flags = case_sensitive_ ? 0 : FNM_CASEFOLD;
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [&](const std::string& pattern) { return fnmatch(pattern.c_str(), name.c_str(), flags) == 0; });
}

FileIndex list_labeled_folders(const std::string& root, const NameFilter* folders, const NameFilter& files) {
  FileIndex index;
  int32_t label = 0;
  for (const std::string& folder : list(root, EntryKind::kFolder, folders)) {
    for (const std::string& name : list(root + "/" + folder, EntryKind::kFile, &files)) {
      index.add(folder + "/" + name, label);
    }
    ++label;
  }
  return index;
}

FileIndex read_file_list(const std::string& path) {
  const FileBytes file(path, FileAccess::kRead);
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  FileIndex index;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    add_line(index, text.substr(0, end), path, number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return index;
}

}  // namespace headrace
