/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads code blobs into memory files, in sequence. */
#include "flow/code/code.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/error.h"
#include "common/thread_pool.h"
#include "common/vector.h"
#include "flow/code/code_file.h"
#include "flow/code/filter.h"

/* libipt maps files only at offsets below 2 GiB. */
#define FILE_LIMIT ((uint64_t)1 << 30)
/* bytes of all code of a trace; a larger trace is refused */
#define CODE_LIMIT ((uint64_t)16 << 30)
#define ALIGNMENT 4096

struct code_blob {
	uint8_t *data; /* bytes in the memory of the file; NULL: the blob is not wanted or not available */
	uint64_t size;
	uint64_t offset;
	uint32_t file;
	bool wanted;
};

struct code_file {
	int fd;
	uint8_t *data;
	uint64_t size;
	char path[40];
};

struct flow_code {
	const struct flow_timeline *timeline;
	struct code_blob *blobs;
	size_t blob_count;
	struct code_file *files;
	size_t file_count;
	struct flow_filter *filter;
};

static uint64_t aligned(uint64_t size)
{
	return (size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

/* Assigns a file and an offset to each wanted blob. */
static int place_blobs(struct flow_code *code)
{
	uint64_t total = 0, end = 0;

	for (size_t i = 0; i < code->blob_count; i++) {
		struct code_blob *blob = &code->blobs[i];

		if (!blob->wanted)
			continue;
		if (blob->size > CODE_LIMIT || (total += aligned(blob->size)) > CODE_LIMIT)
			return common_fail(PTL_NO_MEMORY, "the trace has more than %llu bytes of code",
					   (unsigned long long)CODE_LIMIT);
		if (!code->file_count || end + aligned(blob->size) > FILE_LIMIT) {
			if (!common_vector_room(&code->files, code->file_count, sizeof(*code->files)))
				return common_fail_memory("code files", (code->file_count + 1) * sizeof(*code->files));
			code->files[code->file_count++] = (struct code_file){.fd = -1};
			end = 0;
		}
		blob->file = (uint32_t)(code->file_count - 1);
		blob->offset = end;
		end += aligned(blob->size);
		code->files[blob->file].size = end;
	}
	return 0;
}

static int make_files(struct flow_code *code)
{
	for (size_t i = 0; i < code->file_count; i++) {
		struct code_file *file = &code->files[i];

		file->fd = memfd_create("ptl-code", MFD_CLOEXEC);
		if (file->fd < 0 || ftruncate(file->fd, (off_t)file->size) < 0)
			return common_fail_errno("cannot make a memory file of %llu bytes for code",
						 (unsigned long long)file->size);
		file->data = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
		if (file->data == MAP_FAILED) {
			file->data = NULL;
			return common_fail_errno("cannot map %llu bytes of code", (unsigned long long)file->size);
		}
		snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
	}
	return 0;
}

struct loading {
	struct flow_code *code;
	struct ptl_trace *trace;
	/* blobs outside of the trace; their numbers follow the trace's blobs */
	const struct flow_outside_blob *outside;
	const struct flow_code_idle *idle; /* may be NULL */
	atomic_size_t left;                /* number of blobs still to be loaded */
};

/* Loads a blob from a code store, or from the mapped file. */
static void load_outside(const struct loading *loading, struct code_blob *blob, const struct flow_outside_blob *outside)
{
	uint8_t *data = loading->code->files[blob->file].data + blob->offset;
	size_t size;

	if (!ptl_blob_read_into(loading->trace, outside->hash, data, blob->size, &size)) {
		blob->size = size;
		blob->data = data;
	} else if (*outside->path && flow_code_from_file(outside, data, &blob->size)) {
		blob->data = data;
	}
}

static int load_blob(struct loading *loading, size_t i)
{
	struct code_blob *blob = &loading->code->blobs[i];
	const size_t inside = ptl_blob_count(loading->trace);
	uint8_t *data;
	size_t size;
	int status;

	if (!blob->wanted)
		return 0;
	if (i >= inside) {
		load_outside(loading, blob, &loading->outside[i - inside]);
		return 0;
	}
	data = loading->code->files[blob->file].data + blob->offset;
	status = ptl_blob_read_into(loading->trace, ptl_blob_at(loading->trace, i)->hash, data, blob->size, &size);
	if (status == PTL_CORRUPT || status == PTL_TRUNCATED || status == PTL_NOT_FOUND)
		return 0;
	if (status < 0)
		return status;
	blob->size = size;
	blob->data = data;
	return 0;
}

/* Loads a blob, or, after all blobs are taken, does a piece of idle work. */
static int load_or_idle(void *context, unsigned worker, size_t i)
{
	struct loading *loading = context;
	const size_t count = loading->code->blob_count;
	int status = 0;

	(void)worker;
	if (i < count) {
		status = load_blob(loading, i);
		atomic_fetch_sub(&loading->left, 1);
	} else if (atomic_load(&loading->left)) {
		loading->idle->work(loading->idle->context, i - count);
	}
	return status;
}

/* Fills the files. Afterwards the files are read-only: libipt checks for changes. */
static int load_blobs(struct flow_code *code, struct ptl_trace *trace, unsigned threads,
		      const struct flow_code_idle *idle)
{
	struct loading loading = {.code = code, .trace = trace, .idle = idle, .left = code->blob_count};
	const size_t count = code->blob_count + (idle ? idle->count : 0);
	const struct common_pipeline pipeline = {
		.count = count,
		.threads = threads,
		.window = count,
		.context = &loading,
		.work = load_or_idle,
	};
	int status;

	flow_timeline_outside(code->timeline, &loading.outside);
	status = common_pipeline_run(&pipeline);

	for (size_t i = 0; i < code->file_count; i++)
		mprotect(code->files[i].data, code->files[i].size, PROT_READ);
	return status;
}

int flow_code_open(struct ptl_trace *trace, const struct flow_timeline *timeline, unsigned threads,
		   const struct flow_code_idle *idle, struct flow_code **code)
{
	struct flow_code *opened = calloc(1, sizeof(*opened));
	const size_t inside = ptl_blob_count(trace);
	const struct flow_outside_blob *outside;
	int status = 0;

	if (!opened)
		return common_fail_memory("code", sizeof(*opened));
	opened->timeline = timeline;
	opened->blob_count = inside + flow_timeline_outside(timeline, &outside);
	opened->blobs = calloc(opened->blob_count + 1, sizeof(*opened->blobs));
	if (!opened->blobs)
		status = common_fail_memory("code", opened->blob_count * sizeof(*opened->blobs));
	for (size_t i = 0; !status && i < opened->blob_count; i++) {
		opened->blobs[i].size = i < inside ? ptl_blob_at(trace, i)->size : outside[i - inside].size;
		opened->blobs[i].wanted = opened->blobs[i].size && flow_timeline_uses_blob(timeline, (uint32_t)i);
	}
	if (!status)
		status = flow_filter_open(trace, timeline, &opened->filter);
	if (!status)
		status = place_blobs(opened);
	if (!status)
		status = make_files(opened);
	if (!status)
		status = load_blobs(opened, trace, threads, idle);
	if (status < 0) {
		flow_code_close(opened);
		return common_fail_in(status, "cannot load the trace's code");
	}
	*code = opened;
	return 0;
}

void flow_code_close(struct flow_code *code)
{
	if (!code)
		return;
	for (size_t i = 0; i < code->file_count; i++) {
		if (code->files[i].data)
			munmap(code->files[i].data, code->files[i].size);
		if (code->files[i].fd >= 0)
			close(code->files[i].fd);
	}
	flow_filter_close(code->filter);
	free(code->files);
	free(code->blobs);
	free(code);
}

const struct flow_timeline *flow_code_timeline(const struct flow_code *code)
{
	return code->timeline;
}

const struct flow_filter *flow_code_filter(const struct flow_code *code)
{
	return code->filter;
}

const uint8_t *flow_code_blob(const struct flow_code *code, uint32_t blob, uint64_t *size)
{
	if (blob >= code->blob_count || !code->blobs[blob].data)
		return NULL;
	*size = code->blobs[blob].size;
	return code->blobs[blob].data;
}

bool flow_code_file(const struct flow_code *code, uint32_t blob, const char **path, uint64_t *offset)
{
	if (blob >= code->blob_count || !code->blobs[blob].data)
		return false;
	*path = code->files[code->blobs[blob].file].path;
	*offset = code->blobs[blob].offset;
	return true;
}

size_t flow_code_read(const struct flow_code *code, flow_root root, uint64_t address, uint8_t *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		struct format_piece piece;
		const uint8_t *data;
		uint64_t blob_size, offset, part;

		if (address + done < address || !flow_version_find(code->timeline, root, address + done, &piece))
			break;
		data = flow_code_blob(code, piece.blob, &blob_size);
		offset = piece.offset + (address + done - piece.first);
		if (!data || offset >= blob_size)
			break;
		part = piece.last - (address + done);
		if (part >= size - done)
			part = size - done - 1;
		if (part >= blob_size - offset)
			part = blob_size - offset - 1;
		memcpy(bytes + done, data + offset, part + 1);
		done += part + 1;
	}
	return done;
}
