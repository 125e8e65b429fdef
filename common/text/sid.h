/* SPDX-License-Identifier: BSD-2-Clause */
/* Security identifiers of Windows, [MS-DTYP] 2.4.2. */
#ifndef COMMON_TEXT_SID_H
#define COMMON_TEXT_SID_H

#include "common/bytes.h"

/*
 * Reads a SID and appends its text, such as "S-1-5-18". Sets cursor->failed and appends nothing if the bytes are no
 * SID.
 */
void common_sid_read(struct common_cursor *cursor, struct ptl_bytes *text);

#endif
