/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for the writer of a file. */
#include "relog/follow.h"

#include <inttypes.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include <ptl/reader.h>

#include "common/file.h"
#include "common/message.h"
#include "common/interrupt.h"

#define PAUSE_NS 50000000

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
	while (!ptl_is_closed(fd) && there && common_interrupt_deferred()) {
		show(name, fd);
		nanosleep(&pause, NULL);
		there = common_file_has_writer(fd);
	}
	common_progress_end();
	interrupted = interrupted || !common_interrupt_deferred();
	common_interrupt_defer(0);
	if (interrupted && !ptl_is_closed(fd))
		common_message_note("%s: interrupted; what is there is taken", name);
	else if (!there && !ptl_is_closed(fd))
		common_message_note("%s: nobody writes it any more", name);
}
