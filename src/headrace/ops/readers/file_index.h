// Lists of files with labels: from folders, or from a list file. A million entries take some tens of megabytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

class FileIndex {
 public:
  void add(std::string_view name, int32_t label);

  int64_t size() const { return static_cast<int64_t>(labels_.size()); }
  std::string_view name(int64_t index) const {
    const size_t begin = index == 0 ? 0 : ends_[static_cast<size_t>(index) - 1];
    return std::string_view(names_).substr(begin, ends_[static_cast<size_t>(index)] - begin);
  }
  int32_t label(int64_t index) const { return labels_[static_cast<size_t>(index)]; }

 private:
  std::string names_;  // all of them, one behind the other
  std::vector<size_t> ends_;
  std::vector<int32_t> labels_;
};

// Shell patterns (fnmatch); a name passes if one matches.
class NameFilter {
 public:
  NameFilter(std::vector<std::string> patterns, bool case_sensitive);
  bool matches(const std::string& name) const;

 private:
  std::vector<std::string> patterns_;
  std::vector<std::string> suffixes_;  // of patterns "*SUFFIX", which are most
  bool case_sensitive_;
};

// The files of `root`'s folders that pass the filter, as "folder/file". Folders that pass are sorted by their bytes and
// numbered, also empty ones: that is the label. Their files are sorted; links are followed, deeper folders not.
FileIndex list_labeled_folders(const std::string& root, const NameFilter* folders, const NameFilter& files);

// Lines "name label": the label is the last word, the name all before it but for blanks at its end. Empty lines are
// skipped; ends of lines may be CRLF. Errors name the line.
FileIndex read_file_list(const std::string& path);

}  // namespace headrace
