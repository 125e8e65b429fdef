/* SPDX-License-Identifier: BSD-2-Clause */
/* What execve of a file would run, by the kernel's rules for scripts and formats. */

#ifndef PTL_RECORD_QEMU_SHARED_TARGET_H
#define PTL_RECORD_QEMU_SHARED_TARGET_H

#include <stddef.h>

#include "record/qemu/shared/channel.h"

/* The kernel looks at this many bytes of a file, and follows this many scripts to their
 * interpreters. */
#define PQ_HEAD_SIZE 256
#define PQ_SCRIPTS_MAX 5

struct pq_target {
	char path[PTL_CHANNEL_PATH_SIZE];   /* the ELF file to run */
	char script[PTL_CHANNEL_PATH_SIZE]; /* the file execve was given, if it is a script; else
					       empty */
	/* Arguments that take the place of argv[0], when there was a script; NULL at the end. */
	char *prefix[2 * PQ_SCRIPTS_MAX + 2];
	size_t prefix_count;
};

/*
 * Finds what execve(file) would run. Returns 0; or a negative errno that execve would fail with;
 * or, positive, an enum ptl_not_followed_cause if it may run but not here: the target is then not
 * valid. The target is to be freed after 0.
 */
int pq_target_find(struct pq_target *target, const char *file);

void pq_target_free(struct pq_target *target);

/* A script's first line: interpreter and optional argument, in place. */
struct pq_shebang {
	char *interpreter;
	char *argument; /* NULL if there is none */
};

/*
 * Parses the first bytes of a file that begins with #!; `head` holds PQ_HEAD_SIZE bytes (zeros
 * after the file's end) and is changed. Returns 0 or -ENOEXEC.
 */
int pq_shebang_parse(char *head, struct pq_shebang *shebang);

#endif
