/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes, objects and sums of the fold of input and output, and operations that have not ended. */
#include "analysis/usage/io_state.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/vector.h"

const char *const usage_medium_names[USAGE_MEDIA] = {
	[USAGE_DISK] = "disk",     [USAGE_DISK_FILE] = "file-on-disk", [USAGE_FILE] = "file",
	[USAGE_SOCKET] = "socket", [USAGE_INTERFACE] = "interface",
};

/* --- processes and objects ---------------------------------------------------------------------------- */

int usage_io_process(struct usage_io *io, uint32_t pid, uint64_t time, uint32_t *process)
{
	const uint32_t index = pid == PTL_NO_ID ? FLOW_NONE : flow_timeline_process_at(io->state->timeline, pid, time);
	const uint64_t key = (uint64_t)pid << 32 | index, *known = common_hash_map_get(&io->state->by_process, key);

	if (known) {
		*process = (uint32_t)*known;
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(io->processes, io->process_capacity, io->process_count + 1, "processes"))
		return PTL_NO_MEMORY;
	*process = (uint32_t)io->process_count;
	io->processes[io->process_count++] = (struct usage_io_process){pid, index};
	return common_hash_map_put(&io->state->by_process, key, *process);
}

int usage_io_process_of(struct usage_io *io, const struct ptl_event *event, uint64_t tid, uint32_t *process)
{
	const struct flow_timeline_thread *thread = usage_tids_find(&io->state->tids, usage_machine_id(event, tid),
								    event->time, NULL);

	return usage_io_process(io, thread ? thread->pid : event->pid, event->time, process);
}

int usage_io_object(struct usage_io *io, enum usage_medium medium, const char *name, uint32_t *object)
{
	struct ptl_bytes key = {0};
	const uint64_t *known;
	char *copy;
	int status;

	common_write_le(&key, medium, 1);
	common_write_bytes(&key, name, strlen(name));
	if (key.failed)
		return common_fail_memory("names of files", strlen(name));
	known = common_byte_map_get(&io->state->by_object, key.data, key.size);
	if (known) {
		*object = (uint32_t)*known;
		common_bytes_free(&key);
		return 0;
	}
	copy = strdup(name);
	*object = (uint32_t)io->object_count;
	status = copy ? COMMON_VECTOR_RESERVE(io->objects, io->object_capacity, io->object_count + 1, "files")
		      : common_fail_memory("names of files", strlen(name));
	if (status == 0)
		status = common_byte_map_put(&io->state->by_object, key.data, key.size, *object);
	common_bytes_free(&key);
	if (status < 0) {
		free(copy);
		return status;
	}
	io->objects[io->object_count++] = (struct usage_io_object){.medium = medium, .name = copy};
	return 0;
}

/* --- sums --------------------------------------------------------------------------------------------- */

void usage_io_sum_add(struct usage_io_sum *to, const struct usage_io_sum *sum)
{
	for (unsigned i = 0; i < USAGE_OPERATIONS; i++) {
		to->count[i] += sum->count[i];
		to->bytes[i] += sum->bytes[i];
	}
	to->errors += sum->errors;
	to->timed += sum->timed;
	to->time += sum->time;
	to->unfinished += sum->unfinished;
	to->unfinished_time += sum->unfinished_time;
	if (sum->longest > to->longest) {
		to->longest = sum->longest;
		to->longest_at = sum->longest_at;
	}
}

uint64_t usage_io_operations(const struct usage_io_sum *sum)
{
	return sum->count[USAGE_READ] + sum->count[USAGE_WRITE] + sum->count[USAGE_OTHER];
}

static int find_use(struct usage_io *io, uint32_t process, uint32_t object, struct usage_io_sum **sum)
{
	const uint64_t key = (uint64_t)process << 32 | object, *known = common_hash_map_get(&io->state->by_use, key);

	if (known) {
		*sum = &io->uses[*known].sum;
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(io->uses, io->use_capacity, io->use_count + 1, "files"))
		return PTL_NO_MEMORY;
	io->uses[io->use_count] = (struct usage_io_use){.process = process, .object = object};
	*sum = &io->uses[io->use_count].sum;
	return common_hash_map_put(&io->state->by_use, key, io->use_count++);
}

uint64_t usage_io_within(const struct usage_io *io, uint64_t from, uint64_t to)
{
	const uint64_t first = from > io->first ? from : io->first, last = to < io->last ? to : io->last;

	return last > first ? last - first : 0;
}

int usage_io_add(struct usage_io *io, const struct usage_io_done *done)
{
	struct usage_io_sum *sum;
	int status;

	if (done->end < io->first || done->end > io->last)
		return 0;
	status = find_use(io, done->process, done->object, &sum);
	if (status < 0)
		return status;
	sum->count[done->operation]++;
	sum->bytes[done->operation] += done->bytes;
	sum->errors += done->failed;
	if (!done->begin || done->begin > done->end)
		return 0;
	sum->timed++;
	sum->time += usage_io_within(io, done->begin, done->end);
	if (done->end - done->begin > sum->longest) {
		sum->longest = done->end - done->begin;
		sum->longest_at = done->end;
	}
	return 0;
}

int usage_io_add_unfinished(struct usage_io *io, const struct usage_pending *pending)
{
	struct usage_io_sum *sum;
	int status;

	if (pending->since > io->last)
		return 0;
	status = find_use(io, pending->process, pending->object, &sum);
	if (status < 0)
		return status;
	sum->unfinished++;
	sum->unfinished_time += usage_io_within(io, pending->since, io->last);
	return 0;
}

/* --- operations that have not ended ------------------------------------------------------------------- */

struct usage_pending *usage_pending_add(struct usage_pendings *pendings, uint64_t key)
{
	struct usage_pending *known = usage_pending_find(pendings, key);
	size_t at;

	if (known) {
		free(known->name);
		*known = (struct usage_pending){.active = true};
		return known;
	}
	if (COMMON_VECTOR_RESERVE(pendings->free, pendings->free_capacity, pendings->count + 1, "operations") ||
	    COMMON_VECTOR_RESERVE(pendings->list, pendings->capacity, pendings->count + 1, "operations"))
		return NULL;
	at = pendings->free_count ? pendings->free[pendings->free_count - 1] : pendings->count;
	if (common_hash_map_put(&pendings->index, key, at) < 0)
		return NULL;
	if (pendings->free_count)
		pendings->free_count--;
	else
		pendings->count++;
	pendings->list[at] = (struct usage_pending){.active = true};
	return &pendings->list[at];
}

struct usage_pending *usage_pending_find(const struct usage_pendings *pendings, uint64_t key)
{
	const uint64_t *known = common_hash_map_get(&pendings->index, key);

	return known ? &pendings->list[*known] : NULL;
}

void usage_pending_remove(struct usage_pendings *pendings, uint64_t key)
{
	const uint64_t *known = common_hash_map_get(&pendings->index, key);
	struct usage_pending *pending = known ? &pendings->list[*known] : NULL;

	if (!pending)
		return;
	pendings->free[pendings->free_count++] = (size_t)*known;
	free(pending->name);
	pending->name = NULL;
	pending->active = false;
	common_hash_map_remove(&pendings->index, key);
}

void usage_pendings_free(struct usage_pendings *pendings)
{
	for (size_t i = 0; i < pendings->count; i++)
		free(pendings->list[i].name);
	common_hash_map_free(&pendings->index);
	free(pendings->list);
	free(pendings->free);
	*pendings = (struct usage_pendings){.count = 0};
}
