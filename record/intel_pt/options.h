/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of the source on the command line. */
#ifndef RECORD_INTEL_PT_OPTIONS_H
#define RECORD_INTEL_PT_OPTIONS_H

#include "common/program/options.h"

extern const struct common_option intel_pt_options[];

#endif
