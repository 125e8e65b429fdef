/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of source files, if present in the trace or on this machine. */
#ifndef DUMP_PRINT_SOURCE_TEXT_H
#define DUMP_PRINT_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash_map.h"
#include "dump/run/command.h"

struct dump_source_file;

/* Files that were requested. Zero-initialised: empty. */
struct dump_source_texts {
	struct common_byte_map numbers; /* by path: index in files */
	struct ptl_trace *trace;        /* NULL: no trace is open */
	struct common_byte_map
		in_trace; /* by path: 2 * index of the attachment, plus 1 if the trace has several contents */
	struct dump_source_file *files;
	size_t count;
	int64_t recorded; /* nanoseconds since 1970; 0: unknown */
	size_t newer;     /* files modified after `recorded` */
	char *a_newer;    /* path of the first such file; NULL: none */
	size_t ambiguous; /* files of which the trace has several contents */
};

/*
 * For a process whose output goes to strangers: only files in this folder and its folders are read from here on. A trace
 * names the files, and may name any file.
 */
void dump_source_texts_within(const char *folder);
/* Uses the source files in the trace, and sets the time of recording, to count files that were modified later. */
void dump_source_texts_start(struct dump_source_texts *texts, const struct dump_run *run);
/* Warns if source files were modified after recording, or are ambiguous: their lines may differ from the executed code. */
void dump_source_texts_warn(const struct dump_source_texts *texts);
void dump_source_texts_free(struct dump_source_texts *texts);

/*
 * Finds a source line (from 1), without its line end. Returns false if missing. *words live as long as texts. The path
 * comes from a trace, so only regular files of moderate size are opened. Files of --source-map come first, then the
 * content in the trace, then the file of this path. Only the modification time shows whether a file of this machine
 * matches the program.
 */
bool dump_source_line(struct dump_source_texts *texts, const char *path, uint32_t line, const char **words,
		      size_t *size);

#endif
