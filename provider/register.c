/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers providers: writes definitions to shared memory, and looks for sessions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/bytes.h"
#include "format/container/layout.h"
#include "format/metadata/metadata.h"
#include "provider/names.h"
#include "provider/state.h"

#define DEPTH_MAX 8

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;

/* ---- initialisation ---- */

/* Parses ids of 16 hexadecimal digits, separated by commas; stops at anything else. */
static void read_sessions(const char *text)
{
	while (text && provider_this_process.session_count < PTL_SESSIONS_MAX) {
		char *end;
		uint64_t id = strtoull(text, &end, 16);

		if (end != text + 16)
			return;
		provider_this_process.sessions[provider_this_process.session_count++] = id;
		text = *end == ',' ? end + 1 : NULL;
	}
}

static void before_fork(void)
{
	/* In this order, because a callback may register providers. */
	provider_listener_lock();
	pthread_mutex_lock(&registry);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&registry);
	provider_listener_unlock();
}

/*
 * Gives the child anonymous pages in place of the parent's file, which the parent may remove. All providers appear
 * enabled, so that the child's first event makes the child's own file.
 */
static void after_fork_in_child(void)
{
	__atomic_store_n(provider_instance, 0, __ATOMIC_RELEASE);
	provider_this_process.lock = 0;
	if (provider_this_process.map &&
	    mmap(provider_this_process.map, PROVIDER_SHM_HEAP_OFFSET, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED) {
		for (uint32_t i = 0; i < provider_this_process.entry_count; i++) {
			if (provider_this_process.entries[i].provider)
				provider_shm_turn_on(&provider_shared_entry(i)->enabled, 0, 1, UINT8_MAX, UINT64_MAX);
		}
	}
	pthread_mutex_unlock(&registry);
	provider_listener_child();
}

/*
 * Allocates the instance word. The kernel wipes the word in each child, however the child was created. On kernels
 * without MADV_WIPEONFORK, after_fork_in_child does.
 */
static bool make_instance(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return false;
	madvise(memory, page, MADV_WIPEONFORK);
	provider_instance = memory;
	return true;
}

static bool prepare_process(void)
{
	const char *folder = secure_getenv(PROVIDER_SHM_FOLDER_VARIABLE);

	if (provider_this_process.prepared)
		return true;
	if (folder && strlen(folder) < sizeof(provider_this_process.folder))
		strcpy(provider_this_process.folder, folder);
	else
		provider_name_folder(provider_this_process.folder, geteuid());
	read_sessions(secure_getenv(PROVIDER_SHM_SESSIONS_VARIABLE));
	if (!make_instance())
		return false;
	provider_thread_prepare();
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
	provider_this_process.prepared = true;
	return true;
}

/* Removes the file if no session has used it. */
static __attribute__((destructor)) void remove_file(void)
{
	char name[PROVIDER_SHM_NAME_SIZE];
	int folder;

	if (!provider_this_process.map || provider_this_process.made_rings || !provider_this_instance() ||
	    (uint32_t)getpid() != provider_this_process.pid)
		return;
	folder = provider_folder_open(provider_this_process.folder);
	if (folder < 0)
		return;
	provider_name_process(name, provider_this_process.pid, provider_this_process.id);
	unlinkat(folder, name, 0);
	close(folder);
}

/* ---- definitions ---- */

static const char *opcode_name(const struct ptl_event_definition *event)
{
	static const char *const names[] = {"",          "Start", "Stop",   "DCStart", "DCStop",
					    "Extension", "Reply", "Resume", "Suspend", "Send"};

	if (event->opcode_name)
		return event->opcode_name;
	if (event->opcode == PTL_OPCODE_RECEIVE)
		return "Receive";
	return event->opcode < sizeof(names) / sizeof(names[0]) ? names[event->opcode] : "";
}

/* Returns the number of fields of the field at `at`, including its members; 0 if members are missing or invalid. */
static size_t extent(const struct ptl_field *fields, size_t at, size_t end, unsigned depth)
{
	const struct ptl_field *field = &fields[at];
	size_t next = at + 1, last = next + field->length;

	if (!field->name || !field->type || field->type > PTL_TYPE_STRUCT || field->array > PTL_ARRAY_COUNTED)
		return 0;
	if (field->type != PTL_TYPE_STRUCT)
		return 1;
	if (depth == DEPTH_MAX || field->length > end - next)
		return 0;
	while (next < last) {
		size_t members = extent(fields, next, last, depth + 1);

		if (!members)
			return 0;
		next += members;
	}
	return last - at;
}

static bool well_formed(const struct ptl_event_definition *event)
{
	size_t at = 0;

	if (!event->name || event->field_count > FORMAT_RECORD_ITEMS_MAX)
		return false;
	while (at < event->field_count) {
		size_t members = extent(event->fields, at, event->field_count, 0);

		if (!members)
			return false;
		at += members;
	}
	return true;
}

static void put_record(struct ptl_bytes *out, enum format_record_type type, struct ptl_bytes *body)
{
	common_write_varint(out, type);
	common_write_varint(out, body->size);
	common_write_bytes(out, body->data, body->size);
	out->failed |= body->failed;
	common_bytes_free(body);
}

static int put_event(struct ptl_bytes *out, const struct ptl_event_definition *event)
{
	struct ptl_bytes body = {0};
	const struct ptl_schema schema = {
		.provider = event->provider->guid,
		.id = event->id,
		.version = event->version,
		.opcode = event->opcode,
		.provider_name = event->provider->name,
		.event_name = event->name,
		.task_name = event->task_name ? event->task_name : "",
		.opcode_name = opcode_name(event),
		.message = event->message ? event->message : "",
		.fields = event->fields,
		.field_count = event->field_count,
		.level = event->level,
		.channel = event->channel,
		.task = event->task,
		.keyword = event->keyword,
		.tags = event->tags,
	};

	int status;

	if (!well_formed(event))
		return PTL_MISUSE;
	format_schema_encode(&schema, &body);
	status = body.failed ? PTL_NO_MEMORY : provider_definition_add(event, body.data, body.size);
	put_record(out, FORMAT_RECORD_SCHEMA, &body);
	return status;
}

static void put_map(struct ptl_bytes *out, const struct ptl_map_definition *definition)
{
	struct ptl_map map = definition->map;
	struct ptl_bytes body = {0};

	map.provider = definition->provider->guid;
	format_map_encode(&map, &body);
	put_record(out, FORMAT_RECORD_MAP, &body);
}

/* ---- the heap; callers hold the process lock ---- */

static bool make_heap_room(size_t size)
{
	size_t capacity = provider_this_process.heap_capacity ? provider_this_process.heap_capacity : 1 << 16;
	void *heap;

	while (capacity < provider_this_process.heap_size + size)
		capacity *= 2;
	if (capacity > PROVIDER_SHM_HEAP_MAX)
		return false;
	if (capacity == provider_this_process.heap_capacity)
		return true;
	heap = provider_this_process.heap
		       ? mremap(provider_this_process.heap, provider_this_process.heap_capacity, capacity,
				MREMAP_MAYMOVE)
		       : mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (heap == MAP_FAILED)
		return false;
	provider_this_process.heap = heap;
	provider_this_process.heap_capacity = capacity;
	return true;
}

static int add_chunk(uint32_t number, const struct ptl_bytes *records)
{
	struct provider_shm_chunk chunk = {.provider = number, .data_size = (uint32_t)records->size};
	size_t from = provider_this_process.heap_size, size = (sizeof(chunk) + records->size + 7) & ~(size_t)7;

	if (!records->size)
		return 0;
	if (records->size > PROVIDER_SHM_HEAP_MAX || !make_heap_room(size))
		return PTL_NO_MEMORY;
	chunk.size = (uint32_t)size;
	memcpy(provider_this_process.heap + from, &chunk, sizeof(chunk));
	memcpy(provider_this_process.heap + from + sizeof(chunk), records->data, records->size);
	memset(provider_this_process.heap + from + sizeof(chunk) + records->size, 0,
	       size - sizeof(chunk) - records->size);
	provider_this_process.heap_size += size;
	if (provider_process_write_heap(from))
		return 0;
	provider_this_process.heap_size = from;
	return PTL_SYSTEM;
}

/* ---- groups of providers, also before registration ---- */

static struct {
	const struct ptl_provider *provider; /* NULL: free slot */
	struct ptl_guid group;
} groups[PROVIDER_SHM_PROVIDERS_MAX];

/* Returns the index of the provider's group, or of a free slot; -1: no room. */
static int find_group(const struct ptl_provider *provider)
{
	int free_place = -1;

	for (int i = 0; i < (int)PROVIDER_SHM_PROVIDERS_MAX; i++) {
		if (groups[i].provider == provider)
			return i;
		if (!groups[i].provider && free_place < 0)
			free_place = i;
	}
	return free_place;
}

/* Returns the provider's group; all zero: no group. */
static struct ptl_guid group_of(const struct ptl_provider *provider)
{
	const int at = find_group(provider);

	return at >= 0 && groups[at].provider ? groups[at].group : (struct ptl_guid){{0}};
}

static void forget_group(const struct ptl_provider *provider)
{
	const int at = find_group(provider);

	if (at >= 0)
		groups[at].provider = NULL;
}

int ptl_provider_set_group(struct ptl_provider *provider, const struct ptl_guid *group)
{
	int at, status = 0;

	pthread_mutex_lock(&registry);
	at = find_group(provider);
	if (provider->registered)
		status = PTL_MISUSE;
	else if (at < 0)
		status = PTL_NO_MEMORY;
	if (!status) {
		groups[at].provider = provider;
		groups[at].group = *group;
	}
	pthread_mutex_unlock(&registry);
	return status;
}

/* ---- entries; callers hold the process lock ---- */

/* Returns the number of an equal entry that was unregistered, or of a new entry; PTL_NO_MEMORY beyond the limit. */
static int find_entry(const struct ptl_provider *provider, const struct ptl_bytes *records)
{
	const struct ptl_guid group = group_of(provider);

	for (uint32_t i = 0; i < provider_this_process.entry_count; i++) {
		const struct provider_entry *entry = &provider_this_process.entries[i];

		if (!entry->provider && !memcmp(&entry->guid, &provider->guid, sizeof(entry->guid)) &&
		    !memcmp(&entry->group, &group, sizeof(group)) && !strcmp(entry->name, provider->name) &&
		    entry->chunk_size == records->size &&
		    (!records->size ||
		     !memcmp(provider_this_process.heap + entry->chunk, records->data, records->size)))
			return (int)i;
	}
	return provider_this_process.entry_count < PROVIDER_SHM_PROVIDERS_MAX ? (int)provider_this_process.entry_count
									      : PTL_NO_MEMORY;
}

static int add_entry(uint32_t number, const struct ptl_provider *provider, const struct ptl_bytes *records)
{
	struct provider_entry *entry = &provider_this_process.entries[number];
	struct provider_shm_provider *shared = provider_shared_entry(number);
	size_t chunk = provider_this_process.heap_size + sizeof(struct provider_shm_chunk);
	/* Call even without definitions, to allocate the entry's page. */
	int status = records->size                                                  ? add_chunk(number, records)
		     : provider_process_write_heap(provider_this_process.heap_size) ? 0
										    : PTL_SYSTEM;

	if (status)
		return status;
	entry->guid = provider->guid;
	entry->group = group_of(provider);
	strcpy(entry->name, provider->name);
	entry->chunk = chunk;
	entry->chunk_size = records->size;
	shared->guid = entry->guid;
	shared->group = entry->group;
	memcpy(shared->name, entry->name, sizeof(shared->name));
	return 0;
}

/* Publishes a complete entry: sets its state, so that sessions find the provider. */
static void publish_entry(uint32_t number, struct ptl_provider *provider)
{
	struct provider_shm_provider *shared = provider_shared_entry(number);

	shared->flags = provider->callback ? PROVIDER_SHM_HAS_CALLBACK : 0;
	__atomic_store_n(&provider_this_process.entries[number].provider, provider, __ATOMIC_RELEASE);
	__atomic_store_n(&shared->state, PROVIDER_SHM_REGISTERED, __ATOMIC_SEQ_CST);
	if (number == provider_this_process.entry_count) {
		__atomic_store_n(&provider_this_process.entry_count, number + 1, __ATOMIC_RELEASE);
		__atomic_store_n(&provider_shared_header()->provider_count, provider_this_process.entry_count,
				 __ATOMIC_SEQ_CST);
	}
	provider_process_look(provider_this_process.map, number);
	provider->number = number;
	provider->registered = 1;
	__atomic_store_n(&provider->enabled, &shared->enabled, __ATOMIC_RELEASE);
}

static int add_provider(struct ptl_provider *provider, const struct ptl_bytes *records)
{
	struct provider_guard before;
	int number, status;

	if (!provider_process_lock(&before))
		return PTL_MISUSE;
	if (!provider_process_make()) {
		provider_process_unlock(&before);
		return PTL_SYSTEM;
	}
	number = find_entry(provider, records);
	status = number < 0 ? number : 0;
	if (!status && (uint32_t)number == provider_this_process.entry_count)
		status = add_entry((uint32_t)number, provider, records);
	if (!status)
		publish_entry((uint32_t)number, provider);
	provider_process_unlock(&before);
	return status;
}

/* ---- public functions ---- */

static int check_provider(struct ptl_provider *provider)
{
	static const struct ptl_guid none;
	struct ptl_guid guid;

	if (provider->registered || !provider->name || !*provider->name ||
	    strlen(provider->name) >= PROVIDER_SHM_PROVIDER_NAME_SIZE || ptl_guid_from_name(provider->name, &guid))
		return PTL_MISUSE;
	if (!memcmp(&provider->guid, &none, sizeof(none)))
		provider->guid = guid;
	return 0;
}

static int gather_definitions(struct ptl_bytes *records, struct ptl_provider *provider,
			      const struct ptl_event_definition *const *events,
			      const struct ptl_event_definition *const *events_end,
			      const struct ptl_map_definition *const *maps,
			      const struct ptl_map_definition *const *maps_end)
{
	for (; maps < maps_end; maps++) {
		if (*maps && (*maps)->provider == provider)
			put_map(records, *maps);
	}
	for (; events < events_end; events++) {
		int status = *events && (*events)->provider == provider ? put_event(records, *events) : 0;

		if (status)
			return status;
	}
	return records->failed ? PTL_NO_MEMORY : 0;
}

int ptl_provider_register_arrays(struct ptl_provider *provider, const struct ptl_event_definition *const *events,
				 const struct ptl_event_definition *const *events_end,
				 const struct ptl_map_definition *const *maps,
				 const struct ptl_map_definition *const *maps_end)
{
	struct ptl_bytes records = {0};
	size_t defined;
	int status;

	pthread_mutex_lock(&registry);
	defined = provider_definition_count();
	status = check_provider(provider);
	if (!status && !prepare_process())
		status = PTL_NO_MEMORY;
	if (!status)
		status = gather_definitions(&records, provider, events, events_end, maps, maps_end);
	if (!status)
		status = add_provider(provider, &records);
	if (status)
		provider_definition_forget(defined);
	common_bytes_free(&records);
	if (!status && provider->callback)
		provider_listener_start();
	pthread_mutex_unlock(&registry);
	if (!status && provider->callback)
		provider_listener_report(provider->number);
	return status;
}

static int add_definitions(const struct ptl_provider *provider, struct ptl_bytes *records)
{
	struct provider_guard before;
	int status;

	if (records->failed)
		return PTL_NO_MEMORY;
	if (!provider_process_lock(&before))
		return PTL_MISUSE;
	status = provider_process_make() ? add_chunk(provider->number, records) : PTL_SYSTEM;
	provider_process_unlock(&before);
	return status;
}

int ptl_provider_add_event(const struct ptl_event_definition *event)
{
	struct ptl_bytes records = {0};
	int status = PTL_MISUSE;
	size_t defined;

	pthread_mutex_lock(&registry);
	defined = provider_definition_count();
	if (event->provider->registered)
		status = put_event(&records, event);
	if (!status)
		status = add_definitions(event->provider, &records);
	if (status)
		provider_definition_forget(defined);
	pthread_mutex_unlock(&registry);
	common_bytes_free(&records);
	return status;
}

int ptl_provider_add_map(const struct ptl_map_definition *map)
{
	struct ptl_bytes records = {0};
	int status = PTL_MISUSE;

	pthread_mutex_lock(&registry);
	if (map->provider->registered) {
		put_map(&records, map);
		status = add_definitions(map->provider, &records);
	}
	pthread_mutex_unlock(&registry);
	common_bytes_free(&records);
	return status;
}

void ptl_provider_unregister(struct ptl_provider *provider)
{
	uint32_t number = provider->number;
	struct provider_guard before;

	pthread_mutex_lock(&registry);
	if (provider->registered && provider_process_lock(&before)) {
		struct provider_shm_provider *shared = provider_shared_entry(number);

		__atomic_store_n(&provider->enabled, &ptl_nothing_enabled, __ATOMIC_RELEASE);
		provider->registered = 0;
		__atomic_store_n(&provider_this_process.entries[number].provider, NULL, __ATOMIC_RELEASE);
		/* In a forked child without a file these pages are private, and the writes are harmless. */
		__atomic_store_n(&shared->state, PROVIDER_SHM_UNREGISTERED, __ATOMIC_SEQ_CST);
		__atomic_store_n(&shared->enabled.sessions, 0, __ATOMIC_SEQ_CST);
		provider_process_unlock(&before);
	}
	forget_group(provider);
	pthread_mutex_unlock(&registry);
	provider_listener_forget(number);
}
