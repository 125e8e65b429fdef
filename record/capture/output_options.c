/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of the output's writer, from the settings. */
#include "record/capture/output_options.h"

#include <string.h>

#include "common/thread_pool.h"
#include "record/capture/output.h"

#define WRITE_BUFFER (512u << 10) /* default of the writer */
#define CPUS_PER_THREAD 4         /* CPUs per compressing thread */

/*
 * Returns the number of compressing threads. A single CPU gets none: a worker would only compete. Several CPUs make
 * more packets than one thread compresses.
 */
static unsigned compress_threads(const struct record_settings *settings)
{
	const unsigned cpus = common_cpu_count();

	if (settings->compressors || cpus == 1)
		return settings->compressors;
	return settings->source && !strcmp(settings->source, "intel_pt")
		       ? (cpus + CPUS_PER_THREAD - 1) / CPUS_PER_THREAD
		       : 1;
}

struct ptl_writer_options record_writer_options(const struct record_settings *settings, const char *path)
{
	return (struct ptl_writer_options){
		.size = sizeof(struct ptl_writer_options),
		.level = settings->level,
		.store = !settings->level,
		.flush_interval = settings->flush_interval,
		.buffer_size = settings->write_buffer,
		.memory_limit = settings->write_buffers *
				(settings->write_buffer ? settings->write_buffer : WRITE_BUFFER),
		.name = strcmp(path, "-") == 0 ? "standard output" : path,
		.threads = compress_threads(settings),
	};
}

unsigned record_output_wish(const struct record_settings *settings)
{
	return (settings->output ? RECORD_OUTPUT_NAMED : 0) | (settings->force ? RECORD_OUTPUT_REPLACE : 0);
}
