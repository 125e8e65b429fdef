/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of partial results as blocks. dump/run/partial.h has the content of blocks, which belongs to one version
 * of ptl-dump.
 *
 * Numbers are little-endian. Checksums are XXH64 with seed 0. The file begins with 16 bytes: "PTLPART\n", the version
 * (2 bytes), 6 bytes of zero. Blocks follow up to the end:
 *
 *     4 bytes   kind
 *     4         0: the payload is stored as it is; 1: as a zstd frame
 *     4         size of the payload, at most DUMP_PARTIAL_BLOCK_MAX
 *     4         stored size: not larger, not 0
 *     8         checksum of the stored payload
 *     8         checksum of the 24 bytes before
 */
#ifndef DUMP_RUN_PARTIAL_FILE_H
#define DUMP_RUN_PARTIAL_FILE_H

#include "common/bytes.h"
#include "common/file.h"

#define DUMP_PARTIAL_HEADER_SIZE 16
#define DUMP_PARTIAL_BLOCK_HEADER_SIZE 32
#define DUMP_PARTIAL_BLOCK_MAX (1u << 20)    /* bytes of a block's raw payload */
#define DUMP_PARTIAL_RECORD_MAX (256u << 20) /* bytes of a record, which may span several blocks */
#define DUMP_PARTIAL_VERSION 2

enum dump_partial_block {
	DUMP_PARTIAL_RUN = 1,     /* the trace and the name of the view of the next blocks */
	DUMP_PARTIAL_RECORDS,     /* records, each behind a varint of its size; a record may span blocks */
	DUMP_PARTIAL_DAMAGE,      /* a trace, an offset (varint) and a text: a shard could not read this */
	DUMP_PARTIAL_DESCRIPTION, /* exactly one: version, command, options, files, shard, traces */
	DUMP_PARTIAL_END,         /* the last block: 8 bytes, the number of blocks before */
};

/* ---- writing ------------------------------------------------------------------------------------- */

struct dump_partial_writer {
	struct common_output_file file;
	struct format_compressor *compressor;
	struct ptl_bytes records; /* records that are in no block yet */
	struct ptl_bytes block;   /* the current block */
	uint64_t blocks;
};

/*
 * Creates the file. An existing file is replaced when the new file is complete. Call dump_partial_writer_close in any
 * case. Returns 0, PTL_SYSTEM or PTL_NO_MEMORY.
 */
int dump_partial_writer_open(struct dump_partial_writer *writer, const char *path);
/* Adds a record to the current run. */
int dump_partial_write_record(struct dump_partial_writer *writer, const struct ptl_bytes *record);
/* Writes the pending records, then a block of another kind. */
int dump_partial_write_block(struct dump_partial_writer *writer, enum dump_partial_block kind,
			     const struct ptl_bytes *payload);
/* Completes the file, and renames it to its final path. */
int dump_partial_writer_commit(struct dump_partial_writer *writer);
void dump_partial_writer_close(struct dump_partial_writer *writer);

/* ---- reading ------------------------------------------------------------------------------------- */

struct dump_partial_place {
	uint64_t offset; /* of the block's header, in bytes */
	uint32_t kind;
};

struct dump_partial_reader {
	const char *path; /* owned by the caller */
	int fd;
	struct dump_partial_place *places; /* all blocks except records, in order */
	size_t count;
	struct format_decompressor *decompressor;
	struct ptl_bytes stored; /* scratch */
};

/*
 * Opens the file and checks the headers of all blocks. Errors: PTL_NOT_OURS, PTL_UNSUPPORTED, PTL_CORRUPT,
 * PTL_TRUNCATED, PTL_SYSTEM, PTL_NO_MEMORY.
 */
int dump_partial_reader_open(struct dump_partial_reader *reader, const char *path);
void dump_partial_reader_close(struct dump_partial_reader *reader);
/* Replaces payload by the payload of the block at `offset`. Sets *next to the offset after the block. */
int dump_partial_read_block(struct dump_partial_reader *reader, uint64_t offset, uint32_t *kind,
			    struct ptl_bytes *payload, uint64_t *next);

/*
 * An iterator over the records of a run. Zero-initialise all members but next, which is the offset after the
 * DUMP_PARTIAL_RUN block.
 */
struct dump_partial_records {
	uint64_t next;
	struct ptl_bytes payload; /* of the current block; owned */
	size_t at;
};

/* Replaces record by the next record. Returns PTL_CORRUPT if no record follows. */
int dump_partial_read_record(struct dump_partial_reader *reader, struct dump_partial_records *records,
			     struct ptl_bytes *record);

#endif
