/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes gzip-compressed output. */
#include "dump/export/gzip.h"

#include "common/error.h"

#define GZIP_WINDOW (15 + 16) /* largest window, with a gzip header */
#define MEMORY_LEVEL 8
#define LEVEL 1
#define PIECE ((size_t)1 << 20) /* maximum bytes per call: zlib counts with 32 bits */

int dump_gzip_open(struct dump_gzip *gzip, struct dump_run *run)
{
	*gzip = (struct dump_gzip){.run = run};
	if (deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return common_fail_memory("compression", (size_t)1 << (GZIP_WINDOW - 13));
	gzip->open = true;
	return 0;
}

static int deflate_piece(struct dump_gzip *gzip, int flush)
{
	uint8_t out[16 << 10];

	do {
		gzip->stream.next_out = out;
		gzip->stream.avail_out = sizeof(out);
		deflate(&gzip->stream, flush);
		fwrite(out, 1, sizeof(out) - gzip->stream.avail_out, gzip->run->out);
	} while (!gzip->stream.avail_out);
	return dump_output_check(gzip->run);
}

int dump_gzip_write(struct dump_gzip *gzip, const void *data, size_t size, bool last)
{
	const uint8_t *at = data;
	int status = 0;

	do {
		const size_t piece = size < PIECE ? size : PIECE;

		gzip->stream.next_in = (uint8_t *)(uintptr_t)at;
		gzip->stream.avail_in = (uInt)piece;
		status = deflate_piece(gzip, last && piece == size ? Z_FINISH : Z_NO_FLUSH);
		at += piece;
		size -= piece;
	} while (status == 0 && size);
	return status;
}

void dump_gzip_close(struct dump_gzip *gzip)
{
	if (gzip->open)
		deflateEnd(&gzip->stream);
}
