// The GIL: taking it and giving it away on threads that may outlive the interpreter.
//
// Note [threads at exit]: when a thread asks for the GIL of an interpreter that has ended, CPython 3.11 to 3.13 ends
// the thread, by unwinding its stack. Nothing of ours may run then, and unwinding through a destructor ends the
// process; so the thread sleeps instead until the process is gone, as it does by itself from 3.14 on.
#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

namespace headrace::python {

template <typename F> auto or_sleep_at_exit(F f) {
  try {
    return f();
  } catch (const abi::__forced_unwind&) {
    for (;;) pause();
  }
}

class WithGil {
 public:
  WithGil() : state_(or_sleep_at_exit([] { return PyGILState_Ensure(); })) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  const PyGILState_STATE state_;
};

class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    or_sleep_at_exit([this] { PyEval_RestoreThread(state_); });
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* const state_;
};

}  // namespace headrace::python
