/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by unit tests of the container: a file in memory with a small trace, and a reader of everything in the trace.
 */
#ifndef TESTS_UNIT_FORMAT_SAMPLE_H
#define TESTS_UNIT_FORMAT_SAMPLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/kernel.h>
#include <ptl/reader.h>
#include <ptl/writer.h>

#include "common/bytes.h"
#include "common/sha256.h"

/* Fails the test with the chain of causes. */
#define assert_done(call)                                                                                              \
	do {                                                                                                           \
		const int done_ = (call);                                                                              \
		if (done_)                                                                                             \
			fail_msg("%s: %s: %s", #call, ptl_status_name(done_), ptl_error_text());                       \
	} while (0)

int sample_fd(void);
/* Returns the bytes of a file. */
struct ptl_bytes sample_bytes(int fd);
struct ptl_writer *sample_writer(int fd, const struct ptl_writer_options *options);
uint32_t sample_stream(struct ptl_writer *writer, uint32_t kind, uint32_t tid);
void sample_event(struct ptl_writer *writer, uint32_t stream, uint64_t time, const char *name);
struct ptl_trace *sample_open(int fd, bool ignore_index);

struct sample_content {
	struct common_sha256 *hash;
	uint64_t events;
};

/* Adds an event to the content, for ptl_process. */
int sample_add_event(void *context, struct ptl_trace *trace, const struct ptl_event *event);
/*
 * Reads everything. Computes the hash of the content, independent of positions in the file. Returns the number of
 * events.
 */
uint64_t sample_content(struct ptl_trace *trace, uint8_t digest[COMMON_SHA256_SIZE]);
/* Writes a trace of a few buffers with every kind of content. close false: the trace ends without an index. */
void sample_write(int fd, bool close);

#endif
