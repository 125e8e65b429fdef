/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes the blobs of the inputs. */
#ifndef FORMAT_RELOGGER_BLOBS_H
#define FORMAT_RELOGGER_BLOBS_H

#include <ptl/relogger.h>

#include "format/reader/parts.h"

int format_relogger_pass_blobs(struct ptl_relogger *relogger);
/* Copies a piece of a blob. Skips damage. */
int format_relogger_copy_piece(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			       const struct ptl_blob_info *blob, const struct format_blob_piece *piece);

#endif
