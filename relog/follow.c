/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for the writer of a file. */
#include "relog/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/file.h"
#include "common/program/interrupt.h"
#include "common/program/message.h"
#include "format/container/layout.h"

#define PAUSE_NS 50000000
#define BEGINNING 8 /* bytes that identify a trace file */

static bool was_interrupted;

static void show_file(const char *name, int fd)
{
	struct stat info;

	if (fstat(fd, &info) == 0)
		common_progress("%s: %" PRIu64 " MiB so far; Ctrl-C takes what is there", name,
				(uint64_t)info.st_size >> 20);
}

void relog_follow(int fd, const char *name)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	bool there = true;

	if (!was_interrupted)
		common_interrupt_defer(1);
	while (!ptl_is_closed(fd) && there && common_interrupt_deferred()) {
		show_file(name, fd);
		nanosleep(&pause, NULL);
		there = common_file_has_writer(fd);
	}
	common_progress_end();
	was_interrupted |= !common_interrupt_deferred();
	common_interrupt_defer(0);
	if (was_interrupted && !ptl_is_closed(fd))
		common_message_note("%s: interrupted; what is there is taken", name);
	else if (!there && !ptl_is_closed(fd))
		common_message_note("%s: nobody writes it any more", name);
}

/*
 * ---- traces that are processed while they are written
 * ----------------------------------------------------------------
 */

/*
 * Returns how many of the first bytes are available. Does not consume bytes of a pipe. -1: no bytes, or fd is neither a
 * file nor a pipe.
 */
static ssize_t look_ahead(int fd, uint8_t *data, size_t size)
{
	ssize_t got = pread(fd, data, size, 0);
	int ends[2];

	if (got >= 0 || errno != ESPIPE)
		return got;
	got = recv(fd, data, size, MSG_PEEK | MSG_DONTWAIT);
	if (got >= 0 || errno != ENOTSOCK || pipe2(ends, O_CLOEXEC) < 0)
		return got;
	got = tee(fd, ends[1], size, SPLICE_F_NONBLOCK);
	if (got > 0)
		got = read(ends[0], data, (size_t)got);
	close(ends[0]);
	close(ends[1]);
	return got;
}

/*
 * Whether fd has a writer. Call before looking at the bytes: once the writer is gone, all of its bytes are available.
 */
static bool has_writer(int fd)
{
	struct pollfd state = {.fd = fd, .events = POLLIN};

	if (lseek(fd, 0, SEEK_CUR) >= 0)
		return common_file_has_writer(fd);
	return poll(&state, 1, 0) >= 0 && !(state.revents & (POLLHUP | POLLERR));
}

bool relog_follow_is_trace(int fd)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint8_t data[BEGINNING];

	for (;;) {
		const bool written = has_writer(fd);
		const ssize_t got = look_ahead(fd, data, sizeof(data));

		if (got == sizeof(data))
			return format_file_header_begins(data, sizeof(data));
		if (!written || !common_interrupt_deferred())
			return false;
		nanosleep(&pause, NULL);
	}
}

/* Sets *pt unless the trace's source is "none". Returns false if the source is not known yet. */
static bool find_source(int fd, const char *name, bool *pt)
{
	const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	struct ptl_trace *trace;
	const char *source;
	bool found;

	*pt = true;
	if (copy < 0)
		return true;
	if (ptl_open_fd(copy, name, NULL, &trace)) {
		close(copy);
		return false;
	}
	source = ptl_trace_machine(trace)->source;
	found = *source;
	*pt = ptl_machine_count(trace) > 1 || strcmp(source, "none") != 0;
	ptl_close(trace);
	return found;
}

bool relog_follow_may_have_pt(int fd, const char *name)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	bool pt, written;

	if (lseek(fd, 0, SEEK_CUR) < 0)
		return true;
	do {
		written = has_writer(fd);
		if (find_source(fd, name, &pt))
			return pt;
		nanosleep(&pause, NULL);
	} while (written && common_interrupt_deferred());
	return true;
}

static bool following;
static int interruptions_left; /* deferred interruptions left at the last look; 0: the end was announced */

void relog_follow_begin(int fd)
{
	const int interruptions = lseek(fd, 0, SEEK_CUR) >= 0 ? 1 : COMMON_INTERRUPT_PIPE;

	following = true;
	interruptions_left = interruptions;
	common_interrupt_defer(interruptions);
}

bool relog_follow_is_open(void)
{
	return following;
}

bool relog_follow_is_over(const char *name)
{
	const int before = interruptions_left;
	int left;

	if (!following)
		return false;
	left = common_interrupt_tell(&interruptions_left);
	if (!left && before)
		common_message_note("%s: interrupted; what is there is taken", name);
	was_interrupted |= !left;
	return !left;
}

bool relog_follow_was_interrupted(void)
{
	return was_interrupted;
}

void relog_follow_end(void)
{
	following = false;
	common_interrupt_defer(0);
}
