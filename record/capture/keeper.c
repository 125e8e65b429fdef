/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives copies of descriptors to a relogger. */
#include "record/capture/keeper.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ptl/relogger.h>

#include "common/error.h"
#include "record/capture/background.h"

#define FILES_MAX 16

struct record_keeper {
	char *path;
	char *through; /* what the file is called while it is written; NULL: as it is called */
	bool force;    /* also once there is one of ours */
	int files[FILES_MAX];
	size_t count;
	struct record_background work;
};

int record_keeper_new(const char *path, bool force, struct record_keeper **result)
{
	struct record_keeper *keeper;

	if (!force && access(path, F_OK) == 0)
		return common_fail(PTL_SYSTEM, "%s exists; --force replaces it, -o names another", path);
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
	fd = keeper->count == FILES_MAX ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return common_fail_errno("%s", path);
	keeper->files[keeper->count++] = fd;
	return 0;
}

static int write_file(void *context)
{
	struct record_keeper *keeper = context;
	struct ptl_relogger *relogger;
	int status = ptl_relogger_new(NULL, &relogger);

	for (size_t i = 0; status == 0 && i < keeper->count; i++) {
		status = ptl_relogger_add_fd(relogger, keeper->files[i], "memory", false, NULL, NULL);
		/* It is the relogger's. */
		if (status == 0)
			keeper->files[i] = -1;
	}
	if (status == 0)
		status = ptl_relogger_output(relogger, keeper->through ? keeper->through : keeper->path, keeper->force);
	if (status == 0)
		status = ptl_relogger_process(relogger);
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
