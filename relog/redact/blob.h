/* SPDX-License-Identifier: BSD-2-Clause */
/* Redacts blobs: data among code, names of symbols. */
#ifndef RELOG_REDACT_BLOB_H
#define RELOG_REDACT_BLOB_H

#include <ptl/reader.h>

#include "relog/redact/code.h"

enum relog_blob_fate {
	RELOG_BLOB_SAME,    /* nothing in it is redacted */
	RELOG_BLOB_CHANGED, /* *out is what becomes of it */
	RELOG_BLOB_DROPPED, /* what is in it cannot be determined: it is left out */
};

struct relog_blob_outcome {
	enum relog_blob_fate fate;
	bool left; /* something that was to go stands among what may be instructions, and stays */
};

/*
 * Decides about a blob. Debug information, files and code of more than 96 MiB are dropped, as are symbol tables
 * that cannot be read. out is emptied first and is the caller's. PTL_NO_MEMORY, PTL_SYSTEM; damage is no failure:
 * the blob is dropped.
 */
int relog_redact_blob(struct relog_redactor *redactor, const struct relog_code_origins *origins,
		      struct ptl_trace *trace, const struct ptl_blob_info *blob, struct ptl_bytes *out,
		      struct relog_blob_outcome *outcome);

/* Whether what becomes of a blob depends on what is in it. */
bool relog_redact_reads(const struct ptl_blob_info *blob);

#endif
