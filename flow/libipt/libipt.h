/* SPDX-License-Identifier: BSD-2-Clause */
/* libipt's two decoders as engines. `make static` leaves both out. */
#ifndef FLOW_LIBIPT_LIBIPT_H
#define FLOW_LIBIPT_LIBIPT_H

#include "flow/engine/engine.h"

extern const struct flow_engine_class flow_engine_libipt;
extern const struct flow_engine_class flow_engine_libipt_insn;

#endif
