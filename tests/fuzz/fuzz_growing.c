/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace that is read while a hostile hand writes it: it grows in steps, what was read already changes, it becomes shorter, and is
 * written anew, while everything that is there is read in between.
 *
 * Input: u8 number of steps, for each a u8 of what it does and a u16 of how much or where, little-endian, then the file, whose
 * checksums are made right first. Behind the steps comes what is left of the file, and its writer is gone.
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
	int fd; /* the writer's; -1: it is gone */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In place of the C library's: the reader waits for steps, and each comes when it waits. */
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

/* Some other file in its place, longer than what was there. */
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

/* One step that makes the file longer or shorter, so that nothing is waited for. */
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

/* What is opened by name counts as a writer until it is closed; the descriptor that made the file does not. */
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
		/* What has failed may be asked again. */
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
