/* SPDX-License-Identifier: BSD-2-Clause */
/* PTL's own engine. */
#ifndef FLOW_NATIVE_NATIVE_H
#define FLOW_NATIVE_NATIVE_H

#include "flow/engine/engine.h"

extern const struct flow_engine_class flow_engine_native;

#endif
