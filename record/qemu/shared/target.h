/* SPDX-License-Identifier: BSD-2-Clause */
/* What execve of a file would run, by the kernel's rules for scripts and formats. */

#ifndef RECORD_QEMU_SHARED_TARGET_H
#define RECORD_QEMU_SHARED_TARGET_H

#include <stddef.h>

#include "record/qemu/shared/channel.h"

/* The kernel looks at this many bytes of a file, and follows this many scripts to their
 * interpreters. */
#define QEMU_HEAD_SIZE 256
#define QEMU_SCRIPTS_MAX 5

struct qemu_target {
	char path[QEMU_CHANNEL_PATH_SIZE];   /* the ELF file to run */
	char script[QEMU_CHANNEL_PATH_SIZE]; /* the file execve was given, if it is a script; else
					       empty */
	/* Arguments that take the place of argv[0], when there was a script; NULL at the end. */
	char *prefix[2 * QEMU_SCRIPTS_MAX + 2];
	size_t prefix_count;
};

/*
 * Finds what execve(file) would run. Returns 0; or a negative errno that execve would fail with;
 * or, positive, an enum qemu_not_followed_cause if it may run but not here: the target is then not
 * valid. The target is to be freed after 0.
 */
int qemu_target_find(struct qemu_target *target, const char *file);

void qemu_target_free(struct qemu_target *target);

/* A script's first line: interpreter and optional argument, in place. */
struct qemu_shebang {
	char *interpreter;
	char *argument; /* NULL if there is none */
};

/*
 * Parses the first bytes of a file that begins with #!; `head` holds QEMU_HEAD_SIZE bytes (zeros
 * after the file's end) and is changed. Returns 0 or -ENOEXEC.
 */
int qemu_shebang_parse(char *head, struct qemu_shebang *shebang);

#endif
