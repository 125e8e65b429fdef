/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions that are not in the trace, from the file that was mapped, if this machine has the very same. */
#ifndef FLOW_SYMBOL_SYMBOL_FILE_H
#define FLOW_SYMBOL_SYMBOL_FILE_H

#include <ptl/kernel.h>
#include <ptl/symbols.h>

/* A table that the caller frees; NULL: no such file, one of another build id, or one without names. */
struct ptl_symbol_table *flow_symbols_from_file(const struct ptl_image_event *image);

#endif
