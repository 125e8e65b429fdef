/* SPDX-License-Identifier: BSD-2-Clause */
/* What the user says of traces: the commit that was built, the job that recorded. */
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

/* The rows of a command's table of options. */
#define DUMP_LABEL_OPTIONS(structure, member)                                                                          \
	{"label", 0, "NAME=VALUE",                                                                                     \
	 "Says something of these traces, in the column labels: --label commit=abc. More than one may be given.",      \
	 COMMON_STRINGS(structure, member.given, DUMP_LABELS_MAX)},                                                    \
	{                                                                                                              \
		"label-ci", 0, NULL,                                                                                   \
			"The labels commit, branch, job, run and repository, from the variables of GitHub or GitLab.", \
			COMMON_FLAG(structure, member.of_ci)                                                           \
	}

/* Appends an object of JSON; a label that is given comes before one of CI. PTL_MISUSE, PTL_NO_MEMORY. */
int dump_labels_format(const struct dump_labels *labels, struct ptl_bytes *json);

#endif
