// The public header: all that an operator built outside of headrace needs (docs/custom_operators.md).
#pragma once

#include "core/convert.h"
#include "core/log.h"
#include "graph/arg.h"
#include "graph/operator.h"
#include "graph/plugin.h"
#include "graph/registry.h"
