/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces in unnamed temporary files. */
#include "import/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/program/interrupt.h"
#include "common/sha256.h"
#include "common/thread_pool.h"
#include "common/vector.h"
#include "format/metadata/input_hash.h"

#define PIECE ((size_t)1 << 20) /* bytes per read */
#define LOOK_MS 100             /* milliseconds between checks for signals */

/* Opens an unnamed temporary file. Avoids O_TMPFILE, which some file systems lack. */
static int open_file(int *fd)
{
	const char *folder = getenv("TMPDIR");
	char *name;

	if (asprintf(&name, "%s/ptl-relog-XXXXXX", folder && *folder ? folder : "/tmp") < 0)
		return common_fail_memory("a file name", 0);
	*fd = mkostemp(name, O_CLOEXEC);
	if (*fd >= 0)
		unlink(name);
	else
		common_fail_errno("cannot make a temporary file %s", name);
	free(name);
	return *fd < 0 ? PTL_SYSTEM : 0;
}

/* Waits for data with a timeout: a signal that comes just before a blocking read would go unnoticed. */
static bool is_ready(int pipe, bool follow)
{
	struct pollfd wanted = {.fd = pipe, .events = POLLIN};

	return !follow || poll(&wanted, 1, LOOK_MS) > 0;
}

int import_spool_pipe(int pipe, bool follow, int *fd)
{
	int interruptions_left = COMMON_INTERRUPT_PIPE;
	uint8_t *piece = malloc(PIECE);
	ssize_t got = 1;
	int status;

	*fd = -1;
	status = piece ? open_file(fd) : common_fail_memory("a pipe's bytes", PIECE);

	if (follow)
		common_interrupt_defer(COMMON_INTERRUPT_PIPE);
	while (!status && got && (!follow || common_interrupt_tell(&interruptions_left))) {
		if (!is_ready(pipe, follow))
			continue;
		got = read(pipe, piece, PIECE);
		status = common_interrupt_check();
		if (!status && got > 0)
			status = common_write_all(*fd, piece, (size_t)got);
		else if (!status && got < 0 && errno != EINTR)
			status = common_fail_errno("cannot read");
	}
	common_interrupt_defer(0);
	free(piece);
	if (status && *fd >= 0) {
		close(*fd);
		*fd = -1;
	}
	return status;
}

int import_spool_open(struct import_spool *spool, enum ptl_hash_kind hash_kind)
{
	const struct ptl_writer_options options = {
		.size = sizeof(options), .threads = common_cpu_count() - 1, .name = "a temporary file"};
	int fd = -1;
	int status;

	*spool = (struct import_spool){.fd = -1, .hash_kind = hash_kind};
	status = open_file(&spool->fd);
	if (status)
		return status;
	fd = fcntl(spool->fd, F_DUPFD_CLOEXEC, 3);
	status = fd < 0 ? common_fail_errno("cannot make a temporary file")
			: ptl_writer_open(fd, &options, &spool->writer);
	if (status && fd >= 0)
		close(fd);
	if (status)
		import_spool_free(spool);
	return status;
}

int import_spool_origin(struct import_spool *spool, const struct ptl_provenance_input *origin)
{
	if (!common_vector_room(&spool->origins, spool->origin_count, sizeof(*spool->origins)))
		return common_fail_memory("provenance", (spool->origin_count + 1) * sizeof(*spool->origins));
	spool->origins[spool->origin_count++] = *origin;
	return 0;
}

static int hash_file(int fd, struct format_input_hash *hash, uint64_t size)
{
	uint8_t *piece = malloc(PIECE);
	int status = piece ? 0 : common_fail_memory("a file", PIECE);

	for (uint64_t at = 0; !status && at < size;) {
		const size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;

		status = common_read_at(fd, piece, n, at);
		if (!status)
			format_input_hash_add(hash, piece, n);
		at += n;
		if (!status)
			status = common_interrupt_check();
	}
	free(piece);
	return status;
}

int import_spool_origin_file(struct import_spool *spool, const char *path, int fd)
{
	struct ptl_provenance_input origin = {.name = path};
	struct format_input_hash *hash = format_input_hash_new(spool->hash_kind);
	struct stat info;
	int status = hash ? 0 : common_fail_memory("a hash", 0);

	if (!status && fstat(fd, &info) < 0)
		status = common_fail_errno("cannot read");
	if (!status) {
		origin.size = (uint64_t)info.st_size;
		if (spool->hash_kind != PTL_HASH_NONE)
			status = hash_file(fd, hash, origin.size);
		format_input_hash_finish(hash, &origin);
	}
	format_input_hash_free(hash);
	return status ? status : import_spool_origin(spool, &origin);
}

/*
 * Gives the input an identity from the hashes of its files. Two traces made of the same files are the same recording,
 * although each has a GUID of its own.
 */
static void name_input(const struct import_spool *spool, struct ptl_relogger_input *input)
{
	uint8_t hash[PTL_HASH_SIZE];
	struct common_sha256 *sha256 = common_sha256_new();
	bool known = sha256 && spool->origin_count;

	for (size_t i = 0; known && i < spool->origin_count; i++) {
		known = spool->origins[i].hash_kind != PTL_HASH_NONE;
		common_sha256_add(sha256, spool->origins[i].hash, sizeof(spool->origins[i].hash));
	}
	if (known) {
		common_sha256_finish(sha256, hash);
		ptl_relogger_input_identity(input, hash);
	}
	common_sha256_free(sha256);
}

int import_spool_add(struct import_spool *spool, struct ptl_relogger *relogger, const char *name)
{
	struct ptl_relogger_input *input;
	int status = ptl_writer_close(spool->writer);

	spool->writer = NULL;
	if (!status)
		status = ptl_relogger_add_fd(relogger, spool->fd, name, false, NULL, &input);
	if (!status)
		spool->fd = -1;
	for (size_t i = 0; !status && i < spool->origin_count; i++)
		status = ptl_relogger_input_origin(input, &spool->origins[i]);
	if (!status)
		name_input(spool, input);
	import_spool_free(spool);
	return status;
}

int import_spool_take(struct import_spool *spool, int *fd)
{
	const int status = ptl_writer_close(spool->writer);

	spool->writer = NULL;
	if (status)
		return status;
	*fd = spool->fd;
	spool->fd = -1;
	return 0;
}

void import_spool_free(struct import_spool *spool)
{
	if (spool->writer)
		ptl_writer_abandon(spool->writer);
	if (spool->fd >= 0)
		close(spool->fd);
	free(spool->origins);
	*spool = (struct import_spool){.fd = -1};
}
