/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges files by a relogger. */
#include "record/capture/keeper.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ptl/relogger.h>

#include "common/error.h"
#include "common/plural.h"
#include "format/relogger/unfinished.h"
#include "record/capture/background.h"

#define FILES_MAX 16

struct record_keeper {
	char *path;
	char *through; /* temporary path of the file while the relogger writes; NULL: writes to `path` directly */
	bool force;    /* may replace an existing file; set after the first own file */
	bool unfinished;
	bool whole; /* no recorder writes to the files any more */
	int files[FILES_MAX];
	size_t count;
	struct record_background work;
};

int record_keeper_new(const char *path, bool force, struct record_keeper **result)
{
	struct record_keeper *keeper;

	if (!force && access(path, F_OK) == 0)
		return common_fail(PTL_SYSTEM, "%s exists; -f replaces it, -o names another", path);
	keeper = calloc(1, sizeof(*keeper));
	if (keeper)
		keeper->path = strdup(path);
	if (!keeper || !keeper->path) {
		free(keeper);
		return common_fail_memory("file name", strlen(path));
	}
	keeper->force = force;
	*result = keeper;
	return 0;
}

static void close_files(struct record_keeper *keeper)
{
	while (keeper->count)
		close(keeper->files[--keeper->count]);
}

void record_keeper_free(struct record_keeper *keeper)
{
	int status;

	if (!keeper)
		return;
	(void)record_keeper_done(keeper, true, &status);
	close_files(keeper);
	free(keeper->path);
	free(keeper->through);
	free(keeper);
}

int record_keeper_through(struct record_keeper *keeper, const char *path)
{
	keeper->through = strdup(path);
	return keeper->through ? 0 : common_fail_memory("file name", strlen(path));
}

void record_keeper_leave_unfinished(struct record_keeper *keeper)
{
	keeper->unfinished = true;
}

void record_keeper_expect_whole(struct record_keeper *keeper)
{
	keeper->whole = true;
}

const char *record_keeper_path(const struct record_keeper *keeper)
{
	return keeper->path;
}

int record_keeper_add(void *context, const char *path)
{
	struct record_keeper *keeper = context;
	int fd;

	if (keeper->work.works)
		return common_fail(PTL_MISUSE, "%s is being written; ask again", keeper->path);
	fd = keeper->count == FILES_MAX ? -1 : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return common_fail_errno("%s", path);
	keeper->files[keeper->count++] = fd;
	return 0;
}

/*
 * Fails if the relogger lost data of an input. This recorder wrote the inputs itself, so lost data means a failure of
 * this process.
 */
static int check_inputs(const struct record_keeper *keeper, const struct ptl_relogger *relogger)
{
	struct ptl_relogger_input_info info;
	size_t losses = 0;

	/* The first input of --append is an older file, which may have any damage. */
	for (size_t i = keeper->through ? 1 : 0; i < ptl_relogger_input_count(relogger); i++) {
		ptl_relogger_input_info(ptl_relogger_input_at(relogger, i), &info);
		losses += info.losses;
	}
	return losses ? common_fail(PTL_SYSTEM,
				    "%s lacks what could not be read back in %zu " COMMON_PLURAL("place", "places"),
				    keeper->path, losses)
		      : 0;
}

static int write_file(void *context)
{
	struct record_keeper *keeper = context;
	struct ptl_relogger *relogger;
	int status = ptl_relogger_new(NULL, &relogger);

	for (size_t i = 0; status == 0 && i < keeper->count; i++) {
		status = ptl_relogger_add_fd(relogger, keeper->files[i], "memory", false, NULL, NULL);
		/* The relogger owns the descriptor. */
		if (status == 0)
			keeper->files[i] = -1;
	}
	if (status == 0)
		status = ptl_relogger_output(relogger, keeper->through ? keeper->through : keeper->path, keeper->force);
	if (status == 0 && keeper->unfinished)
		format_relogger_leave_unfinished(relogger);
	if (status == 0)
		status = ptl_relogger_process(relogger);
	if (status == 0 && keeper->whole)
		status = check_inputs(keeper, relogger);
	ptl_relogger_free(relogger);
	if (status == 0 && keeper->through && rename(keeper->through, keeper->path) < 0)
		status = common_fail_errno("cannot replace %s", keeper->path);
	return status;
}

void record_keeper_start(struct record_keeper *keeper)
{
	record_background_start(&keeper->work, write_file, keeper);
}

bool record_keeper_works(const struct record_keeper *keeper)
{
	return keeper && keeper->work.works;
}

bool record_keeper_done(struct record_keeper *keeper, bool wait, int *status)
{
	if (!record_background_done(&keeper->work, wait, status))
		return false;
	for (size_t i = 0; i < keeper->count; i++)
		if (keeper->files[i] >= 0)
			close(keeper->files[i]);
	keeper->count = 0;
	keeper->force |= *status == 0;
	return true;
}
