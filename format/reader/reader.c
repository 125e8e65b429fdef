/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and closes traces: file header, then the index or a scan, then the metadata. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/content/content_remote.h"
#include "common/error.h"
#include "common/file.h"
#include "common/structure.h"
#include "format/reader/reader_internal.h"

#define DEFAULT_MEMORY (64u << 20)

/*
 * If the file header is damaged, a valid first buffer still proves that the file is a trace. Uses the file id of this
 * buffer.
 */
static bool adopt_first_buffer(struct ptl_trace *trace)
{
	uint8_t data[FORMAT_BUFFER_HEADER_SIZE];
	struct format_buffer_header header;

	if (trace->size < FORMAT_FILE_HEADER_SIZE + sizeof(data) ||
	    common_read_at(trace->fd, data, sizeof(data), FORMAT_FILE_HEADER_SIZE) ||
	    !format_buffer_header_decode(data, &header))
		return false;
	trace->header = (struct format_file_header){.major = FORMAT_VERSION_MAJOR};
	trace->file_id = header.file_id;
	format_damage_add(trace, 0, FORMAT_FILE_HEADER_SIZE, PTL_CORRUPT, PTL_NO_ID, "the file header is damaged");
	return true;
}

static int check_header(struct ptl_trace *trace)
{
	const struct format_file_header *header = &trace->header;

	trace->file_id = common_load64(header->id.bytes);
	if (header->major != FORMAT_VERSION_MAJOR)
		return common_fail(PTL_UNSUPPORTED, "format version %u.%u; this program reads version %d",
				   header->major, header->minor, FORMAT_VERSION_MAJOR);
	if (header->reserved_set && header->minor <= FORMAT_VERSION_MINOR)
		format_damage_add(trace, 0, FORMAT_FILE_HEADER_SIZE, PTL_CORRUPT, PTL_NO_ID,
				  "a reserved field of the file header is set");
	return 0;
}

int format_header_read(struct ptl_trace *trace)
{
	const size_t size = trace->size < FORMAT_FILE_HEADER_SIZE ? (size_t)trace->size : FORMAT_FILE_HEADER_SIZE;
	uint8_t data[FORMAT_FILE_HEADER_SIZE];
	enum format_header_state state;
	int status = common_read_at(trace->fd, data, size, 0);

	if (status)
		return status;
	if (!size)
		return common_fail(PTL_TRUNCATED, "the file is empty");
	if (size < FORMAT_FILE_HEADER_SIZE)
		return format_file_header_begins(data, size)
			       ? common_fail(PTL_TRUNCATED, "the file ends within its header, after %zu bytes", size)
			       : common_fail(PTL_NOT_OURS, "not a trace file");
	state = format_file_header_decode(data, &trace->header);
	if (state == FORMAT_HEADER_RIGHT)
		return check_header(trace);
	if (adopt_first_buffer(trace))
		return 0;
	return state == FORMAT_HEADER_BAD_MAGIC
		       ? common_fail(PTL_NOT_OURS, "not a trace file")
		       : common_fail(PTL_CORRUPT, "the file header and what follows it are damaged");
}

static int find_buffers(struct ptl_trace *trace, bool ignore_index)
{
	struct format_trailer trailer;
	int status;

	trace->complete = format_find_trailer(trace, &trailer, &status);
	if (status)
		return status;
	if (trace->complete && !ignore_index) {
		status = format_index_load(trace, &trailer);
		if (status != PTL_CORRUPT)
			return status;
		format_damage_add(trace, trace->size - FORMAT_TRAILER_SIZE, 0, PTL_CORRUPT, PTL_NO_ID,
				  "the index cannot be used: %s", ptl_error_text());
	}
	return format_scan(trace, FORMAT_FILE_HEADER_SIZE);
}

static int by_id(const void *a, const void *b)
{
	const struct format_reader_stream *left = a, *right = b;

	return (left->stream.id > right->stream.id) - (left->stream.id < right->stream.id);
}

int format_streams_sort(struct ptl_trace *trace)
{
	int status = 0;

	if (trace->stream_count)
		qsort(trace->streams, trace->stream_count, sizeof(*trace->streams), by_id);
	for (size_t i = 0; i < trace->stream_count && !status; i++)
		status = common_hash_map_put(&trace->stream_map, trace->streams[i].stream.id, i);
	return status;
}

static int open_parts(struct ptl_trace *trace, const struct ptl_open_options *options)
{
	size_t metadata = 0;
	int status = format_header_read(trace);

	if (!status)
		status = find_buffers(trace, options->ignore_index);
	if (!status)
		status = format_metadata_load(trace, 0, &metadata);
	return status ? status : format_streams_sort(trace);
}

struct ptl_trace *format_trace_new(int fd, const char *name, const struct ptl_open_options *options)
{
	struct ptl_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return NULL;
	trace->fd = fd;
	trace->name = strdup(name);
	trace->memory_limit = options->memory_limit ? options->memory_limit : DEFAULT_MEMORY;
	trace->cache.limit = trace->memory_limit;
	trace->max_expansion = options->max_expansion ? options->max_expansion : FORMAT_EXPANSION_MAX;
	trace->cache.pool.wanted = options->huge_pages;
	pthread_mutex_init(&trace->damage.lock, NULL);
	pthread_mutex_init(&trace->psb_lock, NULL);
	pthread_mutex_init(&trace->loaders.lock, NULL);
	pthread_mutex_init(&trace->cache.lock, NULL);
	pthread_cond_init(&trace->cache.changed, NULL);
	return trace;
}

static void free_growth(struct format_growth *growth)
{
	if (!growth)
		return;
	if (growth->pipe >= 0)
		close(growth->pipe);
	free(growth);
}

void format_trace_free(struct ptl_trace *trace)
{
	for (size_t i = 0; i < trace->stream_count; i++) {
		free(trace->streams[i].entries);
		free(trace->streams[i].psbs);
	}
	free(trace->streams);
	free(trace->blobs.rows);
	free(trace->code_store);
	common_content_remote_close(trace->remote_store);
	free(trace->blobs.parts);
	free(trace->entries);
	common_hash_map_free(&trace->stream_map);
	common_row_index_free(&trace->blobs.index);
	free_growth(trace->growth);
	format_metadata_free(trace);
	format_damage_free(trace);
	format_loaders_free(trace);
	format_cache_free(&trace->cache);
	pthread_mutex_destroy(&trace->damage.lock);
	pthread_mutex_destroy(&trace->psb_lock);
	pthread_mutex_destroy(&trace->loaders.lock);
	pthread_cond_destroy(&trace->cache.changed);
	pthread_mutex_destroy(&trace->cache.lock);
	common_memory_budget_close(&trace->memory_budget);
	common_memory_budget_close(&trace->damage.budget);
	free(trace->name);
	free(trace);
}

static int open_input(int fd, const char *name, const struct ptl_open_options *options, struct ptl_trace **trace)
{
	struct ptl_trace *result = format_trace_new(fd, name, options);
	int status;

	if (!result)
		return common_fail_memory("a trace", sizeof(*result));
	status = format_source_prepare(&result->fd, NULL, &result->size);
	if (!status)
		status = open_parts(result, options);
	if (!status) {
		if (result->fd != fd)
			close(fd);
		*trace = result;
		return 0;
	}
	if (result->fd != fd)
		close(result->fd);
	format_trace_free(result);
	return common_fail_in(status, "%s", name);
}

int ptl_open_fd(int fd, const char *name, const struct ptl_open_options *options, struct ptl_trace **trace)
{
	struct ptl_open_options taken;
	const int status = common_structure_take_optional("ptl_open_options", options, &taken, sizeof(taken));

	*trace = NULL;
	return status ? status : open_input(fd, name, &taken, trace);
}

int ptl_open(const char *path, const struct ptl_open_options *options, struct ptl_trace **trace)
{
	const char *name;
	const int fd = format_source_open(path, &name);
	int status;

	*trace = NULL;
	if (fd < 0)
		return fd;
	status = ptl_open_fd(fd, name, options, trace);
	if (status)
		close(fd);
	return status;
}

void ptl_close(struct ptl_trace *trace)
{
	if (!trace)
		return;
	close(trace->fd);
	format_trace_free(trace);
}

void ptl_trace_version(const struct ptl_trace *trace, uint16_t *major, uint16_t *minor)
{
	*major = trace->header.major;
	*minor = trace->header.minor;
}

void ptl_trace_id(const struct ptl_trace *trace, struct ptl_guid *id, int64_t *wall_time)
{
	*id = trace->header.id;
	*wall_time = trace->header.wall_time;
}

uint64_t ptl_trace_size(const struct ptl_trace *trace)
{
	return trace->size;
}

bool ptl_trace_complete(const struct ptl_trace *trace)
{
	return trace->complete;
}

size_t ptl_stream_count(const struct ptl_trace *trace)
{
	return trace->stream_count;
}

const struct ptl_stream *ptl_stream_at(const struct ptl_trace *trace, size_t i)
{
	return i < trace->stream_count ? &trace->streams[i].stream : NULL;
}

const struct ptl_stream *ptl_stream_find(const struct ptl_trace *trace, uint32_t id)
{
	const uint64_t *known = common_hash_map_get(&trace->stream_map, id);

	return known ? &trace->streams[*known].stream : NULL;
}

size_t format_stream_number(const struct ptl_trace *trace, uint32_t id)
{
	const uint64_t *number = common_hash_map_get(&trace->stream_map, id);

	return number ? (size_t)*number : trace->stream_count;
}

const uint32_t *format_stream_buffers(const struct ptl_trace *trace, size_t stream, size_t *count)
{
	*count = trace->streams[stream].count;
	return trace->streams[stream].entries;
}

const struct ptl_psb *format_stream_psbs(const struct ptl_trace *trace, size_t stream, size_t *count)
{
	*count = trace->streams[stream].psb_count;
	return trace->streams[stream].psbs;
}

int format_trace_read(const struct ptl_trace *trace, void *data, size_t size, uint64_t offset)
{
	return common_read_at(trace->fd, data, size, offset);
}

bool format_trace_is_newer(const struct ptl_trace *trace)
{
	return trace->header.minor > FORMAT_VERSION_MINOR;
}
