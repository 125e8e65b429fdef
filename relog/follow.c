/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for the writer of a file. */
#include "relog/follow.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include <ptl/reader.h>

#include "common/message.h"
#include "common/interrupt.h"
#include "common/signals.h"

#define PAUSE_NS 50000000

/*
 * Whether a process has the file open for writing; true where the system does not say. A lease for reading is only given
 * while nobody has, and is given back at once.
 */
static bool has_writer(int fd)
{
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		return false;
	}
	return true;
}

static void show(const char *name, int fd)
{
	struct stat info;

	if (fstat(fd, &info) == 0)
		common_progress("%s: %" PRIu64 " MiB so far; Ctrl-C takes what is there", name,
				(uint64_t)info.st_size >> 20);
}

void relog_follow(int fd, const char *name)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	static bool interrupted;
	bool there = true;

	if (!interrupted)
		common_interrupt_defer(1);
	/* Who opens the file for writing while the lease is held has it reported to us by this signal. */
	common_signal_ignore(SIGIO, NULL);
	while (!ptl_is_closed(fd) && there && common_interrupt_deferred()) {
		show(name, fd);
		nanosleep(&pause, NULL);
		there = has_writer(fd);
	}
	common_progress_end();
	interrupted = interrupted || !common_interrupt_deferred();
	common_interrupt_defer(0);
	if (interrupted && !ptl_is_closed(fd))
		common_message_note("%s: interrupted; what is there is taken", name);
	else if (!there && !ptl_is_closed(fd))
		common_message_note("%s: nobody writes it any more", name);
}
