/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the program that execve would run, by the kernel's rules for scripts and formats. */

#ifndef RECORD_PROC_TARGET_H
#define RECORD_PROC_TARGET_H

#include <stddef.h>

#include "record/proc/maps.h"

/* The kernel reads this many bytes of a file, and follows this many scripts to interpreters. */
#define RECORD_HEAD_SIZE 256
#define RECORD_SCRIPTS_MAX 5

/* Why the software source cannot record a program that runs. */
enum record_target_obstacle {
	RECORD_TARGET_FORMAT = 1,     /* not an x86-64 ELF file */
	RECORD_TARGET_UNREADABLE = 3, /* executable but not readable */
};

struct record_target {
	char path[RECORD_PATH_SIZE];   /* path of the ELF program to run */
	char script[RECORD_PATH_SIZE]; /* file given to execve if a script; else empty */
	/* arguments that replace argv[0] of a script; ends with NULL */
	char *prefix[2 * RECORD_SCRIPTS_MAX + 2];
	size_t prefix_count;
};

/*
 * Finds the program that execve(file) would run.
 * Returns 0, and the caller frees the target; a negative errno of execve; or an enum record_target_obstacle (positive)
 * for a program that may run, but cannot be recorded.
 */
int record_target_find(struct record_target *target, const char *file);

void record_target_free(struct record_target *target);

/* First line of a script: interpreter and optional argument, in place. */
struct record_shebang {
	char *interpreter;
	char *argument; /* NULL without an argument */
};

/*
 * Parses a head that begins with #!. head: RECORD_HEAD_SIZE bytes, zeros after the file's end; changed by the call.
 * Returns 0 or -ENOEXEC.
 */
int record_shebang_parse(char *head, struct record_shebang *shebang);

/* Checks for an x86-64 ELF program without an ELF interpreter, which contains all of its functions. */
bool record_target_is_static(const char *path);

#endif
