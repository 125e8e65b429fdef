/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of partial results as blocks: docs/partial-results.md. What blocks hold is known in dump/partial/partial.h. */
#ifndef DUMP_PARTIAL_PARTIAL_FILE_H
#define DUMP_PARTIAL_PARTIAL_FILE_H

#include "common/bytes.h"
#include "common/file.h"

#define DUMP_PARTIAL_HEADER_SIZE 16
#define DUMP_PARTIAL_BLOCK_HEADER_SIZE 32
#define DUMP_PARTIAL_BLOCK_MAX (1u << 20)    /* raw payload of a block */
#define DUMP_PARTIAL_RECORD_MAX (256u << 20) /* a record in several blocks */
#define DUMP_PARTIAL_VERSION 2

enum dump_partial_block {
	DUMP_PARTIAL_RUN = 1,     /* results of a view over a trace come next */
	DUMP_PARTIAL_RECORDS,     /* of the run before: sizes and records, over all its blocks */
	DUMP_PARTIAL_DAMAGE,      /* what could not be read of a trace */
	DUMP_PARTIAL_DESCRIPTION, /* what all this is */
	DUMP_PARTIAL_END,         /* the last one: how many blocks there are before it */
};

/* ---- writing ------------------------------------------------------------------------------------- */

struct dump_partial_writer {
	struct common_output_file file;
	struct format_compressor *compressor;
	struct ptl_bytes records; /* that are in no block yet */
	struct ptl_bytes block;   /* the one at hand */
	uint64_t blocks;
};

/* An existing file is replaced when the new one is complete. PTL_SYSTEM, PTL_NO_MEMORY; close in any case. */
int dump_partial_writer_open(struct dump_partial_writer *writer, const char *path);
/* Adds to the records of the run. */
int dump_partial_write_record(struct dump_partial_writer *writer, const struct ptl_bytes *record);
/* Writes a block of another kind, after the records before it. */
int dump_partial_write_block(struct dump_partial_writer *writer, enum dump_partial_block kind,
			     const struct ptl_bytes *payload);
/* The file is complete, and gets its name. */
int dump_partial_writer_commit(struct dump_partial_writer *writer);
void dump_partial_writer_close(struct dump_partial_writer *writer);

/* ---- reading ------------------------------------------------------------------------------------- */

struct dump_partial_place {
	uint64_t offset; /* of the block's header */
	uint32_t kind;
};

struct dump_partial_reader {
	const char *path; /* the caller's */
	int fd;
	struct dump_partial_place *places; /* blocks but for those of records, in order */
	size_t count;
	struct format_decompressor *decompressor;
	struct ptl_bytes stored; /* scratch */
};

/* Looks at the headers of all blocks. PTL_NOT_OURS, PTL_UNSUPPORTED, PTL_CORRUPT, PTL_TRUNCATED, PTL_SYSTEM, PTL_NO_MEMORY. */
int dump_partial_reader_open(struct dump_partial_reader *reader, const char *path);
void dump_partial_reader_close(struct dump_partial_reader *reader);
/* Replaces payload by that of the block at offset; *next is behind it. */
int dump_partial_read_block(struct dump_partial_reader *reader, uint64_t offset, uint32_t *kind,
			    struct ptl_bytes *payload, uint64_t *next);

/* A walk over the records of a run. Zero-initialised but for next, which is behind the run's own block. */
struct dump_partial_records {
	uint64_t next;
	struct ptl_bytes payload; /* of the block at hand; owned */
	size_t at;
};

/* Replaces record by the next one. PTL_CORRUPT where there is none. */
int dump_partial_read_record(struct dump_partial_reader *reader, struct dump_partial_records *records,
			     struct ptl_bytes *record);

#endif
