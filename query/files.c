/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads files named in expressions, and caches the most recently used ones. */
#include "query/files.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/vector.h"

struct query_data_file {
	uint8_t *data; /* NULL: not in memory */
	size_t size;
	uint64_t used; /* clock value of the last use */
};

char *query_files_path(const struct query_files *files, const char *name, struct common_arena *arena)
{
	size_t folder = name[0] == '/' ? 0 : strlen(files->folder), size = strlen(name);
	char *path = common_arena_zeroed(arena, folder + size + 1);

	if (!path)
		return NULL;
	memcpy(path, files->folder, folder);
	memcpy(path + folder, name, size);
	return path;
}

static bool forbidden;

void query_files_forbid(void)
{
	forbidden = true;
}

static int check_permission(const char *name)
{
	return forbidden ? common_fail(PTL_SYSTEM, "%.80s: expressions read no files here", name) : 0;
}

/* Frees the least recently used files, but not the last used one. */
static void make_file_room(struct query_files *files)
{
	while (files->bytes > QUERY_FILES_KEPT) {
		struct query_data_file *oldest = NULL;

		for (size_t i = 0; i < files->count; i++) {
			struct query_data_file *file = &files->list[i];

			if (file->data && file->used != files->clock && (!oldest || file->used < oldest->used))
				oldest = file;
		}
		if (!oldest)
			return;
		free(oldest->data);
		oldest->data = NULL;
		files->bytes -= oldest->size;
	}
}

static int find_data_file(struct query_files *files, const char *name, struct query_data_file **file)
{
	const uint64_t *known = common_byte_map_get(&files->by_name, name, strlen(name));
	int status;

	*file = NULL;
	if (known) {
		*file = &files->list[*known];
		return 0;
	}
	if (!common_vector_room(&files->list, files->count, sizeof(*files->list)))
		return common_fail_memory("files", (files->count + 1) * sizeof(*files->list));
	status = common_byte_map_put(&files->by_name, name, strlen(name), files->count);
	if (status < 0)
		return status;
	*file = &files->list[files->count++];
	**file = (struct query_data_file){0};
	return 0;
}

int query_files_read(struct query_files *files, const char *name, const uint8_t **data, size_t *size)
{
	struct common_arena arena = {0};
	struct query_data_file *file;
	char *path;
	int status = check_permission(name);

	if (!status)
		status = find_data_file(files, name, &file);
	if (status < 0)
		return status;
	if (!file->data) {
		path = query_files_path(files, name, &arena);
		status = path ? common_read_file(path, QUERY_FILE_SMALL, &file->data, &file->size) : PTL_NO_MEMORY;
		common_arena_free(&arena);
		if (status < 0)
			return status;
		files->bytes += file->size;
	}
	file->used = ++files->clock;
	make_file_room(files);
	*data = file->data;
	*size = file->size;
	return 0;
}

int query_files_open(const struct query_files *files, const char *name, int *fd)
{
	struct common_arena arena = {0};
	char *path = query_files_path(files, name, &arena);
	int status = path ? check_permission(name) : PTL_NO_MEMORY;

	if (!status) {
		*fd = open(path, O_RDONLY | O_CLOEXEC);
		if (*fd < 0)
			status = common_fail_errno("%s", path);
	}
	common_arena_free(&arena);
	return status;
}

static int size_of(const char *name, int fd, uint64_t *size)
{
	struct stat info;

	if (fstat(fd, &info) < 0)
		return common_fail_errno("%s", name);
	*size = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
	return 0;
}

int query_files_size(struct query_files *files, const char *name, uint64_t *size)
{
	int fd, status = query_files_open(files, name, &fd);

	if (status < 0)
		return status;
	status = size_of(name, fd, size);
	close(fd);
	return status;
}

int query_files_read_at(struct query_files *files, const char *name, uint64_t offset, void *data, size_t size)
{
	const uint64_t *known = common_byte_map_get(&files->by_name, name, strlen(name));
	const uint8_t *bytes = NULL;
	uint64_t there = 0;
	size_t whole = 0;
	int fd, status = known ? 0 : query_files_open(files, name, &fd);

	if (!known && !status) {
		status = size_of(name, fd, &there);
		if (!status && there > QUERY_FILE_SMALL && offset <= there && size <= there - offset)
			status = common_read_at(fd, data, size, offset);
		close(fd);
		if (status < 0 || (there > QUERY_FILE_SMALL && offset <= there && size <= there - offset))
			return status;
	}
	if (!status && there <= QUERY_FILE_SMALL) {
		status = query_files_read(files, name, &bytes, &whole);
		there = whole;
	}
	if (status < 0)
		return status;
	if (offset > there || size > there - offset)
		return common_fail(PTL_TRUNCATED, "%s has %llu bytes, too few for %zu at offset %llu", name,
				   (unsigned long long)there, size, (unsigned long long)offset);
	memcpy(data, bytes + offset, size);
	return 0;
}

void query_files_free(struct query_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->list[i].data);
	free(files->list);
	common_byte_map_free(&files->by_name);
	*files = (struct query_files){0};
}
