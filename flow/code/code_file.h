/* SPDX-License-Identifier: BSD-2-Clause */
/* Code that is not in the trace, from the file that was mapped, if this machine has the very same. */
#ifndef FLOW_CODE_CODE_FILE_H
#define FLOW_CODE_CODE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/timeline/query.h"

/* A larger piece of code is not looked for: a bound on memory. */
#define FLOW_CODE_FILE_MAX ((uint64_t)1 << 30)

/*
 * Fills data, which has room for blob->size bytes, and sets *size to how many the file has there. false: there is no
 * such file, or its bytes are others than those whose hash the trace has.
 */
bool flow_code_from_file(const struct flow_outside_blob *blob, uint8_t *data, uint64_t *size);

#endif
