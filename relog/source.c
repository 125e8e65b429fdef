/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens trace files as inputs, and spools what cannot be sought. */
#include "relog/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/sha256.h"
#include "relog/output.h"

#define PIECE (1u << 20)

/* An unlinked file for what a pipe brings. */
static int open_spool(int *spool)
{
	const char *folder = getenv("TMPDIR");
	char *name;

	if (asprintf(&name, "%s/ptl-relog-XXXXXX", folder && *folder ? folder : "/tmp") < 0)
		return ptl_fail_memory("a file name", 0);
	*spool = mkostemp(name, O_CLOEXEC);
	if (*spool >= 0)
		unlink(name);
	else
		ptl_fail_errno("cannot make a temporary file %s", name);
	free(name);
	return *spool < 0 ? PTL_SYSTEM : 0;
}

static int copy_all(int from, int to)
{
	uint8_t *piece = malloc(PIECE);
	int status = piece ? 0 : ptl_fail_memory("a pipe's bytes", PIECE);

	while (!status) {
		ssize_t got = read(from, piece, PIECE);

		status = relog_check_signals();
		if (status || got == 0)
			break;
		if (got > 0)
			status = ptl_write_all(to, piece, (size_t)got);
		else if (errno != EINTR)
			status = ptl_fail_errno("cannot read");
	}
	free(piece);
	return status;
}

/* Exchanges a descriptor that cannot be sought for one that can. */
static int spool(int *fd)
{
	int copy = -1;
	int status = open_spool(&copy);

	if (!status)
		status = copy_all(*fd, copy);
	close(*fd);
	*fd = copy;
	return status;
}

static int open_descriptor(const char *path, int *fd)
{
	bool is_stdin = strcmp(path, "-") == 0;

	*fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return ptl_fail_errno("cannot open");
	return lseek(*fd, 0, SEEK_SET) < 0 ? spool(fd) : 0;
}

int relog_source_open(struct relog_source *source, const char *path)
{
	int fd = -1;
	int status;

	*source = (struct relog_source){.name = strcmp(path, "-") ? path : "(standard input)",
					.fd = -1};
	status = open_descriptor(path, &source->fd);
	if (status) {
		relog_source_close(source);
		return ptl_fail_in(status, "%s", strcmp(path, "-") ? path : "(standard input)");
	}
	fd = fcntl(source->fd, F_DUPFD_CLOEXEC, 3);
	status = fd < 0 ? ptl_fail_errno("%s", source->name)
			: ptl_open_fd(fd, source->name, NULL, &source->trace);
	if (status) {
		if (fd >= 0)
			close(fd);
		relog_source_close(source);
	}
	return status;
}

int relog_source_hash(const struct relog_source *source, uint8_t digest[PTL_HASH_SIZE],
		      uint64_t *size)
{
	struct ptl_sha256 *hash = ptl_sha256_new();
	uint8_t *piece = malloc(PIECE);
	uint64_t at = 0;
	int status = hash && piece ? 0 : ptl_fail_memory("a hash", PIECE);

	*size = ptl_trace_size(source->trace);
	while (!status && at < *size) {
		size_t n = *size - at < PIECE ? (size_t)(*size - at) : PIECE;

		status = ptl_read_at(source->fd, piece, n, at);
		if (!status) {
			ptl_sha256_add(hash, piece, n);
			at += n;
			status = relog_check_signals();
		}
	}
	if (!status)
		ptl_sha256_finish(hash, digest);
	free(piece);
	ptl_sha256_free(hash);
	return status ? ptl_fail_in(status, "%s", source->name) : 0;
}

void relog_source_close(struct relog_source *source)
{
	if (source->trace)
		ptl_close(source->trace);
	if (source->fd >= 0)
		close(source->fd);
	*source = (struct relog_source){.fd = -1};
}
