/* SPDX-License-Identifier: BSD-2-Clause */
/* What execve of a file would run, by the kernel's rules for scripts and formats. */

#ifndef RECORD_PROCESS_TARGET_H
#define RECORD_PROCESS_TARGET_H

#include <stddef.h>

#include "record/process/maps.h"

/* The kernel looks at this many bytes of a file, and follows this many scripts to their
 * interpreters. */
#define RECORD_HEAD_SIZE 256
#define RECORD_SCRIPTS_MAX 5

/* Why a program runs, but not in QEMU. */
enum record_target_obstacle {
	RECORD_TARGET_FORMAT = 1,     /* not an x86-64 ELF file */
	RECORD_TARGET_UNREADABLE = 3, /* executable but not readable: QEMU cannot load it */
};

struct record_target {
	char path[RECORD_PATH_SIZE];   /* the ELF file to run */
	char script[RECORD_PATH_SIZE]; /* the file execve was given, if it is a script; else
					       empty */
	/* Arguments that take the place of argv[0], when there was a script; NULL at the end. */
	char *prefix[2 * RECORD_SCRIPTS_MAX + 2];
	size_t prefix_count;
};

/*
 * Finds what execve(file) would run. Returns 0; or a negative errno that execve would fail with;
 * or, positive, an enum record_target_obstacle if it may run but not here: the target is then not
 * valid. The target is to be freed after 0.
 */
int record_target_find(struct record_target *target, const char *file);

void record_target_free(struct record_target *target);

/* A script's first line: interpreter and optional argument, in place. */
struct record_shebang {
	char *interpreter;
	char *argument; /* NULL if there is none */
};

/*
 * Parses the first bytes of a file that begins with #!; `head` holds RECORD_HEAD_SIZE bytes (zeros
 * after the file's end) and is changed. Returns 0 or -ENOEXEC.
 */
int record_shebang_parse(char *head, struct record_shebang *shebang);

#endif
