// SampleContext: what an operator that asks for too much is told.
#include "graph/operator.h"

namespace headrace {

void SampleContext::refuse(const char* what, int i, size_t count) {
  fail(ErrorKind::kRuntime, "its code asks for {} {}, but it has {} here: the Schema declares them", what, i, count);
}

}  // namespace headrace
