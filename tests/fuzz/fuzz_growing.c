/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes a trace that a hostile writer changes during reading. The file grows in steps, changes bytes already read,
 * becomes shorter, and is rewritten; the reader reads everything in between.
 * Input, little-endian: u8 number of steps; for each step u8 kind and u16 amount or position; then the file, whose
 * checksums are corrected first. After the steps the rest of the file is written and the writer ends.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/bytes.h"
#include "tests/fuzz/mend.h"
#include "tests/fuzz/read_trace.h"

#define STEPS_MAX 32
#define STEP_SIZE 3

/* The rest append. */
enum { STEP_CHANGE = 4, STEP_SHORTEN, STEP_ANEW, STEP_READ, STEPS };

struct growing {
	const uint8_t *steps;
	unsigned left;
	const uint8_t *file;
	size_t size, written;
	int fd; /* writer's descriptor; -1: the writer has ended */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Replaces the C library's function: each wait of the reader makes one step. */
int nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)time;
	(void)left;
	return 0;
}

static void append(struct growing *growing, size_t most)
{
	const size_t left = growing->size - growing->written, size = left < most ? left : most;

	if (pwrite(growing->fd, growing->file + growing->written, size, (off_t)growing->written) != (ssize_t)size)
		abort();
	growing->written += size;
}

static void shorten(struct growing *growing, size_t size)
{
	if (size > growing->written)
		return;
	if (ftruncate(growing->fd, (off_t)size) < 0)
		abort();
	growing->written = size;
}

static void change(const struct growing *growing, size_t at, uint8_t by)
{
	uint8_t byte;

	if (pread(growing->fd, &byte, 1, (off_t)at) != 1)
		return;
	byte ^= by;
	if (pwrite(growing->fd, &byte, 1, (off_t)at) != 1)
		abort();
}

/* Replaces the file by another, longer file. */
static void write_anew(struct growing *growing, size_t from)
{
	const size_t before = growing->written;

	shorten(growing, from < before ? from : before);
	append(growing, SIZE_MAX);
}

static void run_step(struct growing *growing, struct ptl_trace *trace)
{
	const uint8_t what = growing->steps[0];
	const size_t amount = common_load16(growing->steps + 1);

	growing->steps += STEP_SIZE;
	growing->left--;
	switch (what % STEPS) {
	case STEP_CHANGE:
		change(growing, amount, what | 1);
		break;
	case STEP_SHORTEN:
		shorten(growing, amount);
		break;
	case STEP_ANEW:
		write_anew(growing, amount);
		break;
	case STEP_READ:
		read_everything(trace);
		break;
	default:
		append(growing, amount);
	}
}

/* Makes a step that changes the file's length, so that no call waits. */
static int advance(void *context, struct ptl_trace *trace)
{
	struct growing *growing = context;
	const size_t before = growing->written;

	while (growing->left && growing->written == before)
		run_step(growing, trace);
	if (growing->written != before || growing->fd < 0)
		return 0;
	append(growing, SIZE_MAX);
	close(growing->fd);
	growing->fd = -1;
	return 0;
}

/* A descriptor opened by name counts as a writer until closed; the memfd's first descriptor does not. */
static int open_both(struct growing *growing)
{
	const int file = memfd_create("fuzz", MFD_CLOEXEC);
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	growing->fd = open(path, O_RDWR | O_CLOEXEC);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0 || growing->fd < 0 || fd < 0)
		abort();
	close(file);
	return fd;
}

static void follow(struct growing *growing)
{
	const struct ptl_open_options open = {.size = sizeof(open), .memory_limit = 1 << 20};
	const struct ptl_realtime_options options = {
		.size = sizeof(options), .open = &open, .delay = 1, .idle = advance, .context = growing};
	const int fd = open_both(growing);
	struct ptl_trace *trace;

	if (ptl_open_realtime_fd(fd, "fuzz", &options, &trace)) {
		close(fd);
	} else {
		read_everything(trace);
		/* Failed reads may be repeated. */
		read_everything(trace);
		ptl_close(trace);
	}
	if (growing->fd >= 0)
		close(growing->fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct growing growing = {.left = size ? data[0] % (STEPS_MAX + 1) : 0, .steps = data + 1};
	const size_t begin = 1 + growing.left * (size_t)STEP_SIZE;
	uint8_t *copy;

	if (size < begin || size - begin > SIZE_LIMIT)
		return 0;
	growing.size = size - begin;
	copy = malloc(growing.size + 1);
	if (!copy)
		abort();
	memcpy(copy, data + begin, growing.size);
	mend(copy, growing.size);
	growing.file = copy;
	follow(&growing);
	free(copy);
	return 0;
}
