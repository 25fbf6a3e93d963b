// A temporary folder for tests, removed with everything in it at the end.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"

namespace headrace {

class TestFolder {
 public:
  TestFolder() : path_(testing::TempDir() + "headrace_XXXXXX") { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~TestFolder() { std::filesystem::remove_all(path_); }

  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  std::string write(std::string_view name, std::span<const uint8_t> bytes) const {
    std::ofstream(*this / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return *this / name;
  }

 private:
  std::string path_;
};

// The message of the Error that `action` throws; "" if it throws none.
template <typename Action> std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

}  // namespace headrace
