/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command line can say to the source. */
#ifndef RECORD_INTEL_PT_OPTIONS_H
#define RECORD_INTEL_PT_OPTIONS_H

#include "common/program/options.h"

extern const struct common_option intel_pt_options[];

#endif
