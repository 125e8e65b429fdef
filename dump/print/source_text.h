/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of source files, if this machine has them. */
#ifndef DUMP_PRINT_SOURCE_TEXT_H
#define DUMP_PRINT_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>

#include "common/hash_map.h"

struct dump_source_file;

/* Files that were asked for. Zero-initialised is empty. */
struct dump_source_texts {
	struct common_byte_map numbers; /* by path: index in files */
	struct dump_source_file *files;
	size_t count;
	int64_t recorded; /* nanoseconds since 1970; 0: unknown */
	size_t newer;     /* files that were changed after that */
	char *a_newer;    /* the first of them; NULL */
};

/* Files that are newer than this recording are counted. */
void dump_source_texts_start(struct dump_source_texts *texts, const struct ptl_trace *trace);
/* Says that lines of files that are newer may be others than those that ran. */
void dump_source_texts_warn(const struct dump_source_texts *texts);
void dump_source_texts_free(struct dump_source_texts *texts);

/*
 * The line, which counts from 1, without its end; false where there is none. *words live as long as texts. The path comes
 * from a trace: nothing but a regular file of moderate size is opened. Whether it is the version that the program was made of,
 * only its time can tell.
 */
bool dump_source_line(struct dump_source_texts *texts, const char *path, uint32_t line, const char **words,
		      size_t *size);

#endif
