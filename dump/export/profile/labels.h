/* SPDX-License-Identifier: BSD-2-Clause */
/* Labels of traces given by the user: built commit, recording job. */
#ifndef DUMP_EXPORT_PROFILE_LABELS_H
#define DUMP_EXPORT_PROFILE_LABELS_H

#include <stdbool.h>

#include "common/bytes.h"
#include "common/program/options.h"

struct dump_labels {
	struct common_string_list given; /* NAME=VALUE */
	bool of_ci;
};

#define DUMP_LABELS_MAX 64

/* Rows for a table of options. */
#define DUMP_LABEL_OPTIONS(structure, member)                                                                          \
	{"label", 0, "NAME=VALUE",                                                                                     \
	 "Says something of these traces, in the column labels: --label commit=abc. More than one may be given.",      \
	 COMMON_STRINGS(structure, member.given, DUMP_LABELS_MAX)},                                                    \
	{                                                                                                              \
		"label-ci", 0, NULL,                                                                                   \
			"The labels commit, branch, job, run and repository, from the variables of GitHub or GitLab.", \
			COMMON_FLAG(structure, member.of_ci)                                                           \
	}

/*
 * Appends the labels as a JSON object. A given label replaces a label from CI variables. Returns 0, PTL_MISUSE or
 * PTL_NO_MEMORY.
 */
int dump_labels_format(const struct dump_labels *labels, struct ptl_bytes *json);

#endif
