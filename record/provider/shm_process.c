/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads `process` files. The contents may change or vanish at any moment. */
#include "record/provider/shm_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ptl/kernel.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/text/guid.h"
#include "record/provider/shm_folder.h"
#include "record/provider/shm_guard.h"

#define CHUNK_MAX (8u << 20) /* maximum size of a valid chunk */

static struct provider_shm_provider *entry_of(const struct record_shm_process *process, uint32_t n)
{
	return (void *)(process->map + PROVIDER_SHM_PROVIDER_OFFSET(n));
}

/* ---- opening --------------------------------------------------------------------------------- */

static int check_header(struct record_shm_process *process, const struct record_shm_name *name)
{
	struct provider_shm_process header;

	if (!record_guard_copy(&header, process->map, sizeof(header)))
		return common_fail(PTL_TRUNCATED, "the file was cut short");
	if (header.magic != PROVIDER_SHM_PROCESS_MAGIC)
		return common_fail(PTL_CORRUPT, "it is no file of providers");
	if (header.version != PROVIDER_SHM_VERSION || header.clock != PTL_CLOCK_MONOTONIC)
		return common_fail(PTL_UNSUPPORTED, "version %u, clock %u of the provider library", header.version,
				   header.clock);
	if (header.pid != name->pid || header.id != name->process)
		return common_fail(PTL_CORRUPT, "its name is another process's");
	process->pid = header.pid;
	process->id = header.id;
	process->start = header.start;
	process->pid_namespace = header.pid_namespace;
	process->parent = header.parent;
	memcpy(process->program, header.program, sizeof(process->program));
	process->program[sizeof(process->program) - 1] = 0;
	return 0;
}

static int map(struct record_shm_process *process)
{
	void *at;

	if (process->info.st_size < (off_t)PROVIDER_SHM_PAGE)
		return common_fail(PTL_TRUNCATED, "the file is too short");
	at = mmap(NULL, PROVIDER_SHM_HEAP_OFFSET, process->writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
		  process->file, 0);
	if (at == MAP_FAILED)
		return common_fail_errno("cannot map it");
	process->map = at;
	return 0;
}

int record_shm_process_open(int folder, const char *text, bool writable, struct record_shm_process *process)
{
	struct record_shm_name name;
	int status;

	*process = (struct record_shm_process){.writable = writable, .heap_taken = PROVIDER_SHM_HEAP_OFFSET};
	record_guard_start();
	record_shm_parse(text, &name);
	process->file = record_shm_open_file(folder, text, writable ? O_RDWR : O_RDONLY, &process->info);
	if (process->file < 0)
		return errno == ENOENT ? common_fail(PTL_NOT_FOUND, "%s", text) : common_fail_errno("%s", text);
	process->providers = calloc(PROVIDER_SHM_PROVIDERS_MAX, sizeof(*process->providers));
	status = process->providers
			 ? map(process)
			 : common_fail_memory("providers", PROVIDER_SHM_PROVIDERS_MAX * sizeof(*process->providers));
	if (status == 0)
		status = check_header(process, &name);
	if (status == 0)
		return 0;
	record_shm_process_close(process);
	return common_fail_in(status, "%s", text);
}

void record_shm_process_close(struct record_shm_process *process)
{
	if (process->map)
		munmap(process->map, PROVIDER_SHM_HEAP_OFFSET);
	if (process->file >= 0)
		close(process->file);
	free(process->providers);
	*process = (struct record_shm_process){.file = -1};
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Checks for GUIDs of kernel events, which no program may write. */
static bool is_kernels(const struct ptl_guid *guid)
{
	static const struct ptl_guid lost = PTL_GUID(0x6a399ae0, 0x4bc6, 0x4de9, 0x870b, 0x3657f8947e7e),
				     kernel = PTL_GUID(0x9e814aad, 0x3204, 0x11d2, 0x9a82, 0x006008a86939);
	size_t count;
	const struct ptl_schema *const *schemas = ptl_kernel_schemas(&count);

	for (size_t i = 0; i < count; i++)
		if (common_guid_equal(guid, &schemas[i]->provider))
			return true;
	return common_guid_equal(guid, &lost) || common_guid_equal(guid, &kernel);
}

void record_shm_process_look(struct record_shm_process *process)
{
	struct provider_shm_process header;
	uint32_t count;

	if (process->broken || !record_guard_copy(&header, process->map, sizeof(header))) {
		process->broken = true;
		return;
	}
	count = __atomic_load_n(&header.provider_count, __ATOMIC_ACQUIRE);
	atomic_thread_fence(memory_order_acquire);
	if (count > PROVIDER_SHM_PROVIDERS_MAX)
		count = PROVIDER_SHM_PROVIDERS_MAX;
	for (; process->provider_count < count; process->provider_count++) {
		struct record_shm_provider *provider = &process->providers[process->provider_count];
		struct provider_shm_provider entry;

		if (!record_guard_copy(&entry, entry_of(process, process->provider_count), sizeof(entry))) {
			process->broken = true;
			return;
		}
		provider->guid = entry.guid;
		provider->group = entry.group;
		provider->flags = entry.flags;
		memcpy(provider->name, entry.name, sizeof(provider->name));
		provider->name[sizeof(provider->name) - 1] = 0;
		provider->refused = is_kernels(&provider->guid);
	}
}

bool record_shm_process_entry(struct record_shm_process *process, uint32_t n, struct record_shm_entry *entry)
{
	struct provider_shm_provider copy;

	if (process->broken || !record_guard_copy(&copy, entry_of(process, n), sizeof(copy))) {
		process->broken = true;
		return false;
	}
	*entry = (struct record_shm_entry){copy.state, copy.flags, copy.enabled};
	return true;
}

/* ---- writes by recorders --------------------------------------------------------------------- */

struct act {
	struct record_shm_process *process;
	struct provider_shm_provider *entry;
	const struct record_shm_turn *turn;
	unsigned slot;
	bool changed;
};

static void turn_guarded(void *context)
{
	struct act *act = context;
	const struct record_shm_turn *turn = act->turn;
	const uint32_t bit = 1u << turn->slot;

	if (turn->on)
		act->changed = provider_shm_turn_on(&act->entry->enabled, turn->slot, turn->session, turn->level,
						    turn->keywords);
	else if (turn->any_session)
		act->changed = __atomic_fetch_and(&act->entry->enabled.sessions, ~bit, __ATOMIC_SEQ_CST) & bit;
	else
		act->changed = provider_shm_turn_off(&act->entry->enabled, turn->slot, turn->session);
}

bool record_shm_process_turn(struct record_shm_process *process, uint32_t n, const struct record_shm_turn *turn)
{
	struct act act = {.entry = entry_of(process, n), .turn = turn};

	if (process->broken || !record_guard(turn_guarded, &act)) {
		process->broken = true;
		return false;
	}
	return act.changed;
}

static void capture_guarded(void *context)
{
	struct act *act = context;

	__atomic_fetch_or(&act->entry->enabled.capture, 1u << act->slot, __ATOMIC_SEQ_CST);
}

void record_shm_process_capture(struct record_shm_process *process, uint32_t n, unsigned slot)
{
	struct act act = {.entry = entry_of(process, n), .slot = slot};

	if (process->broken || !record_guard(capture_guarded, &act))
		process->broken = true;
}

static void notify_guarded(void *context)
{
	struct provider_shm_process *header = (void *)((struct act *)context)->process->map;

	__atomic_fetch_add(&header->notify, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &header->notify, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void record_shm_process_notify(struct record_shm_process *process)
{
	struct act act = {.process = process};

	if (process->broken || !record_guard(notify_guarded, &act))
		process->broken = true;
}

/* ---- the heap -------------------------------------------------------------------------------- */

static bool read_at(int file, void *to, size_t size, uint64_t offset)
{
	uint8_t *at = to;

	while (size) {
		const ssize_t n = pread(file, at, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return true;
}

static int take_records(struct common_cursor cursor, uint32_t provider,
			int (*take)(void *context, uint32_t provider, uint64_t type, const uint8_t *body, size_t size),
			void *context)
{
	int status = 0;

	while (status == 0 && common_cursor_left(&cursor)) {
		const uint64_t type = common_read_varint(&cursor);
		const uint64_t size = common_read_varint(&cursor);
		const uint8_t *body;

		if (cursor.failed || size > common_cursor_left(&cursor))
			return common_fail(PTL_CORRUPT, "a schema does not fit its chunk");
		body = common_read_bytes(&cursor, (size_t)size);
		status = take(context, provider, type, body, (size_t)size);
	}
	return status;
}

/*
 * Reads the chunk at heap_taken. end: end of the heap. Returns PTL_NOT_FOUND if the chunk's provider is not valid yet.
 */
static int take_chunk(struct record_shm_process *process, uint64_t end,
		      int (*take)(void *context, uint32_t provider, uint64_t type, const uint8_t *body, size_t size),
		      void *context)
{
	struct provider_shm_chunk chunk;
	uint8_t *data;
	int status;

	if (end - process->heap_taken < sizeof(chunk) ||
	    !read_at(process->file, &chunk, sizeof(chunk), process->heap_taken))
		return common_fail(PTL_TRUNCATED, "a chunk of schemas is cut short");
	if (chunk.size < sizeof(chunk) || chunk.size % 8 || chunk.size > CHUNK_MAX ||
	    chunk.size > end - process->heap_taken || chunk.data_size > chunk.size - sizeof(chunk) ||
	    chunk.provider >= PROVIDER_SHM_PROVIDERS_MAX)
		return common_fail(PTL_CORRUPT, "a chunk of schemas is invalid");
	/* A program writes schemas before their provider: the chunk is read again later. */
	if (chunk.provider >= process->provider_count)
		return PTL_NOT_FOUND;
	data = malloc(chunk.data_size ? chunk.data_size : 1);
	if (!data)
		return common_fail_memory("schemas", chunk.data_size);
	if (read_at(process->file, data, chunk.data_size, process->heap_taken + sizeof(chunk)))
		status = take_records(common_cursor(data, chunk.data_size), chunk.provider, take, context);
	else
		status = common_fail(PTL_TRUNCATED, "a chunk of schemas is cut short");
	free(data);
	process->heap_taken += chunk.size;
	return status;
}

int record_shm_process_chunks(struct record_shm_process *process,
			      int (*take)(void *context, uint32_t provider, uint64_t type, const uint8_t *body,
					  size_t size),
			      void *context)
{
	struct provider_shm_process header;
	uint64_t end;
	int status = 0;

	if (process->broken || !record_guard_copy(&header, process->map, sizeof(header))) {
		process->broken = true;
		return 0;
	}
	end = header.heap_end;
	atomic_thread_fence(memory_order_acquire);
	if (end <= process->heap_taken)
		return 0;
	if (end > PROVIDER_SHM_HEAP_OFFSET + PROVIDER_SHM_HEAP_MAX)
		status = common_fail(PTL_CORRUPT, "the heap of schemas is too large");
	while (status == 0 && process->heap_taken < end)
		status = take_chunk(process, end, take, context);
	if (status == PTL_CORRUPT || status == PTL_TRUNCATED) {
		/* Later chunks cannot be found. */
		process->heap_taken = UINT64_MAX;
		status = PTL_CORRUPT;
	}
	return status == PTL_NOT_FOUND ? 0 : status;
}
