/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads code that is missing in the trace from the mapped file, if this machine has an identical file. */
#ifndef FLOW_CODE_CODE_FILE_H
#define FLOW_CODE_CODE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/timeline/query.h"

/* maximum bytes of a piece of code, to bound memory */
#define FLOW_CODE_FILE_MAX ((uint64_t)1 << 30)

/*
 * Reads the blob's bytes from its file. data has room for blob->size bytes. *size: bytes read. Returns false if the
 * file is missing, or if the hash of its bytes differs from the trace's hash.
 */
bool flow_code_from_file(const struct flow_outside_blob *blob, uint8_t *data, uint64_t *size);

#endif
