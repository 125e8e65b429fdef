/* SPDX-License-Identifier: BSD-2-Clause */
/* Redacts blobs: data in code, and names of symbols. */
#ifndef RELOG_REDACT_BLOB_H
#define RELOG_REDACT_BLOB_H

#include <ptl/reader.h>

#include "relog/redact/code.h"

enum relog_blob_fate {
	RELOG_BLOB_SAME,    /* nothing was redacted */
	RELOG_BLOB_CHANGED, /* *out has the redacted blob */
	RELOG_BLOB_DROPPED, /* the content cannot be checked: the blob is left out */
};

struct relog_blob_outcome {
	enum relog_blob_fate fate;
	bool left; /* text to redact stands among bytes that may be instructions, and stays there */
};

/*
 * Decides the fate of a blob, and redacts it. Drops debug information, files, code of more than 96 MiB, and unreadable
 * symbol tables. A damaged blob is dropped, which is no failure. out is emptied first, and is the caller's. Returns
 * PTL_NO_MEMORY, PTL_SYSTEM.
 */
int relog_redact_blob(struct relog_redactor *redactor, const struct relog_code_origins *origins,
		      struct ptl_trace *trace, const struct ptl_blob_info *blob, struct ptl_bytes *out,
		      struct relog_blob_outcome *outcome);

/* Whether the fate of a blob depends on its content. */
bool relog_redact_reads(const struct ptl_blob_info *blob);

#endif
