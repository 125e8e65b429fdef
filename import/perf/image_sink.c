/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes content of images to the trace. */
#include "import/perf/import.h"

static int put_blob(void *context, uint32_t type, const void *data, size_t size, uint8_t hash[PTL_HASH_SIZE])
{
	struct perf_import *import = context;

	return ptl_writer_blob(import->writer, type, data, size, hash);
}

static int put_attachment(void *context, const struct ptl_attachment *attachment)
{
	struct perf_import *import = context;

	return ptl_writer_attachment(import->writer, attachment);
}

struct elf_image_sink perf_image_sink(struct perf_import *import)
{
	return (struct elf_image_sink){import, put_blob, put_attachment};
}
