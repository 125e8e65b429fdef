/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads each source file once. The files of images that came first are stored first. */
#include "flow/symbol/source_store.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/hash_map.h"
#include "common/program/message.h"
#include "flow/symbol/debug_file.h"

#define SECOND 1000000000
#define PATHS_MAX 100000u /* paths of a trace: hostile line tables may have any number of paths */

struct flow_source_store {
	struct elf_image_sink sink;
	struct common_byte_map seen; /* by path */
	uint64_t paths, bytes;       /* of the current trace */
	int64_t recorded;
	struct flow_source_counts counts;
};

/* The owner of an ELF file whose lines name source files. */
struct reading {
	struct flow_source_store *store;
	bool has_owner;
	uid_t owner;
};

int flow_source_store_new(const struct elf_image_sink *sink, int64_t recorded, struct flow_source_store **store)
{
	*store = calloc(1, sizeof(**store));
	if (!*store)
		return common_fail_memory("source files", sizeof(**store));
	(*store)->sink = *sink;
	(*store)->recorded = recorded;
	return 0;
}

void flow_source_store_free(struct flow_source_store *store)
{
	if (!store)
		return;
	common_byte_map_free(&store->seen);
	free(store);
}

void flow_source_store_restart(struct flow_source_store *store)
{
	common_byte_map_free(&store->seen);
	store->seen = (struct common_byte_map){0};
	store->paths = store->bytes = 0;
}

/*
 * Whether the owner of the program may read the file. A program of a stranger may name any file as its source, and
 * root can read any file.
 */
static bool is_allowed(const struct reading *reading, const struct stat *info)
{
	return geteuid() != 0 || (info->st_mode & S_IROTH) || !reading->has_owner || reading->owner == 0 ||
	       reading->owner == info->st_uid;
}

static bool is_newer(const struct flow_source_store *store, const struct stat *info)
{
	return store->recorded &&
	       (info->st_mtim.tv_sec > store->recorded / SECOND ||
		(info->st_mtim.tv_sec == store->recorded / SECOND && info->st_mtim.tv_nsec > store->recorded % SECOND));
}

static int put_content(struct flow_source_store *store, const char *path, const uint8_t *data, size_t size)
{
	struct ptl_attachment attachment = {.kind = PTL_ATTACHMENT_SOURCE, .pid = PTL_NO_ID, .name = path};
	int status = store->sink.blob(store->sink.context, PTL_BLOB_FILE, data, size, attachment.hash);

	if (!status)
		status = store->sink.attachment(store->sink.context, &attachment);
	return status;
}

static int put_file(struct flow_source_store *store, const char *path, int fd, const struct stat *info)
{
	const size_t size = (size_t)info->st_size;
	uint8_t *data = malloc(size);
	int status = 0;

	if (!data)
		return common_fail_memory("a source file", size);
	if (common_read_at(fd, data, size, 0) == 0) {
		status = put_content(store, path, data, size);
		store->bytes += size;
		store->counts.stored++;
		store->counts.newer += is_newer(store, info);
	} else {
		store->counts.missing++;
	}
	free(data);
	return status;
}

static int take_path(void *context, const char *path)
{
	const struct reading *reading = context;
	struct flow_source_store *store = reading->store;
	struct stat info;
	int fd, status = 0;

	if (common_byte_map_get(&store->seen, path, strlen(path)))
		return 0;
	if (store->paths == PATHS_MAX) {
		store->counts.beyond++;
		return 0;
	}
	store->paths++;
	status = common_byte_map_put(&store->seen, path, strlen(path), 1);
	if (status)
		return status;
	fd = *path == '/' && strlen(path) < PATH_MAX ? common_open_regular(path, &info) : -1;
	if (fd < 0 || info.st_size <= 0 || !is_allowed(reading, &info))
		store->counts.missing++;
	else if ((uint64_t)info.st_size > FLOW_SOURCE_FILE_MAX ||
		 (uint64_t)info.st_size > FLOW_SOURCE_MAX - store->bytes)
		store->counts.beyond++;
	else
		status = put_file(store, path, fd, &info);
	if (fd >= 0)
		close(fd);
	return status;
}

static int take_files(struct reading *reading, struct flow_debug *debug)
{
	const int status = debug ? flow_lines_files(debug->lines, take_path, reading) : 0;

	flow_debug_free(debug);
	return status;
}

int flow_source_store_take(void *store, int fd, const char *image)
{
	struct reading reading = {.store = store};
	struct stat info;

	if (fstat(fd, &info) == 0) {
		reading.has_owner = true;
		reading.owner = info.st_uid;
	}
	return take_files(&reading, flow_debug_from_file(NULL, dup(fd), image, false));
}

int flow_source_store_take_memory(struct flow_source_store *store, uint8_t *data, size_t size, const char *image)
{
	struct reading reading = {.store = store};

	return take_files(&reading, flow_debug_from_memory(NULL, data, size, image, false));
}

int flow_source_store_has(struct flow_source_store *store, const char *path)
{
	return common_byte_map_put(&store->seen, path, strlen(path), 1);
}

void flow_source_store_counts(const struct flow_source_store *store, struct flow_source_counts *counts)
{
	*counts = store->counts;
}

void flow_source_store_report(const struct flow_source_store *store)
{
	const struct flow_source_counts *counts = &store->counts;

	if (counts->beyond)
		common_message_warning("%llu source file%s not in the trace: a file has at most %llu MiB, all files "
				       "of a trace %llu MiB",
				       (unsigned long long)counts->beyond, counts->beyond == 1 ? " is" : "s are",
				       (unsigned long long)(FLOW_SOURCE_FILE_MAX >> 20),
				       (unsigned long long)(FLOW_SOURCE_MAX >> 20));
	if (counts->missing)
		common_message_note("%llu of %llu source files that line tables name are not readable on this machine",
				    (unsigned long long)counts->missing,
				    (unsigned long long)(counts->missing + counts->stored + counts->beyond));
	if (counts->newer)
		common_message_warning("%llu source file%s newer than the trace: lines may not be those that ran",
				       (unsigned long long)counts->newer, counts->newer == 1 ? " is" : "s are");
}
