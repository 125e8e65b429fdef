/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Minimal recorder's side of docs/providers.md, for tests of the program's side. The reader trusts the data, and fails
 * the test on an inconsistency.
 */
#include "tests/unit/session_reader.h"

void reader_path(const struct reader *reader, const char *name, char path[512])
{
	snprintf(path, 512, "%s/%s", reader->folder, name);
}

void reader_start(struct reader *reader, const char *folder, unsigned slot, uint64_t id, uint64_t ring_size,
		  uint32_t flags, const char *provider, uint8_t level, uint64_t keywords)
{
	struct provider_shm_session_file file;
	char name[PROVIDER_SHM_NAME_SIZE], path[512], final[512];
	size_t size = sizeof(file.session) + sizeof(file.rules[0]);

	memset(&file, 0, sizeof(file));
	mkdir(folder, 0700);
	snprintf(reader->folder, sizeof(reader->folder), "%s", folder);
	reader->slot = slot;
	reader->id = id;
	reader->ring_size = ring_size;
	file.session.magic = PROVIDER_SHM_SESSION_MAGIC;
	file.session.version = PROVIDER_SHM_VERSION;
	file.session.size = (uint32_t)size;
	file.session.id = id;
	file.session.slot = slot;
	file.session.recorder = (uint32_t)getpid();
	file.session.flags = flags;
	file.session.clock = 1;
	file.session.ring_size = ring_size;
	file.session.burst_rings = reader->burst_rings;
	file.session.rule_count = 1;
	file.rules[0].match = provider ? PROVIDER_SHM_MATCH_NAME : PROVIDER_SHM_MATCH_ALL;
	file.rules[0].level = level;
	file.rules[0].keywords = keywords;
	snprintf(file.rules[0].name, sizeof(file.rules[0].name), "%s", provider ? provider : "");
	snprintf(name, sizeof(name), ".new.%016llx", (unsigned long long)id);
	reader_path(reader, name, path);
	reader->lock = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (reader->lock < 0 || flock(reader->lock, LOCK_EX) || write(reader->lock, &file, size) != (ssize_t)size)
		abort();
	snprintf(name, sizeof(name), PROVIDER_SHM_SESSION_NAME, slot);
	reader_path(reader, name, final);
	if (rename(path, final))
		abort();
}

unsigned reader_each_provider(const struct reader *reader,
			      void (*turn)(const struct reader *reader, struct provider_shm_process *process,
					   struct provider_shm_provider *provider))
{
	DIR *folder = opendir(reader->folder);
	struct dirent *entry;
	unsigned processes = 0;

	while (folder && (entry = readdir(folder))) {
		char path[512];
		uint8_t *map;
		int fd;

		if (strncmp(entry->d_name, "process.", 8) != 0)
			continue;
		reader_path(reader, entry->d_name, path);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		map = mmap(NULL, PROVIDER_SHM_HEAP_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		if (map == MAP_FAILED)
			abort();
		processes++;
		for (uint32_t i = 0; i < __atomic_load_n(&((struct provider_shm_process *)(void *)map)->provider_count,
							 __ATOMIC_ACQUIRE);
		     i++) {
			struct provider_shm_provider *provider = (void *)(map + PROVIDER_SHM_PROVIDER_OFFSET(i));

			if (__atomic_load_n(&provider->state, __ATOMIC_ACQUIRE) == PROVIDER_SHM_REGISTERED)
				turn(reader, (void *)map, provider);
		}
		munmap(map, PROVIDER_SHM_HEAP_OFFSET);
	}
	if (folder)
		closedir(folder);
	return processes;
}

void reader_notify(struct provider_shm_process *process)
{
	__atomic_add_fetch(&process->notify, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &process->notify, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void reader_turn_on_one(const struct reader *reader, struct provider_shm_process *process,
			struct provider_shm_provider *provider)
{
	if (provider_shm_turn_on(&provider->enabled, reader->slot, reader->id, 255, UINT64_MAX))
		reader_notify(process);
}

static void reader_turn_off_one(const struct reader *reader, struct provider_shm_process *process,
				struct provider_shm_provider *provider)
{
	if (provider_shm_turn_off(&provider->enabled, reader->slot, reader->id))
		reader_notify(process);
}

void reader_open_files(struct reader *reader)
{
	DIR *folder = opendir(reader->folder);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		struct reader_file *file = &reader->files[reader->count];
		unsigned long long process, session;
		char path[512];
		size_t known = 0;

		if (sscanf(entry->d_name, "rings.%u.%16llx.%16llx", &file->pid, &process, &session) != 3 ||
		    session != reader->id)
			continue;
		while (known < reader->count && strcmp(reader->files[known].name, entry->d_name) != 0)
			known++;
		if (known < reader->count || reader->count == READER_FILES_MAX)
			continue;
		reader_path(reader, entry->d_name, path);
		file->fd = open(path, O_RDWR | O_CLOEXEC);
		if (file->fd < 0)
			continue;
		file->process = process;
		snprintf(file->name, sizeof(file->name), "%s", entry->d_name);
		file->first = mmap(NULL, PROVIDER_SHM_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
		if (file->first == MAP_FAILED)
			abort();
		reader->count++;
	}
	if (folder)
		closedir(folder);
}

static uint64_t reader_drain_ring(struct reader *reader, struct reader_file *file, uint32_t number)
{
	struct provider_shm_ring *ring = file->rings[number];
	const uint8_t *data = (const uint8_t *)ring + PROVIDER_SHM_PAGE;
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE), tail = ring->tail, count = 0;
	static uint8_t copy[PROVIDER_SHM_RING_MIN * 256];

	while (tail < head) {
		uint64_t at = tail & (reader->ring_size - 1);
		struct provider_shm_record record;
		size_t ids;

		for (size_t i = 0; i < sizeof(record); i++)
			((uint8_t *)&record)[i] = data[(at + i) & (reader->ring_size - 1)];
		ids = (record.flags & PROVIDER_SHM_HAS_ACTIVITY ? 16u : 0) +
		      (record.flags & PROVIDER_SHM_HAS_RELATED ? 16u : 0);
		if (record.size % 8 || record.size > head - tail || record.size > sizeof(copy) ||
		    record.size < sizeof(record) + ids + record.payload_size) {
			reader->broken++;
			tail = head;
			break;
		}
		for (size_t i = 0; i < record.size; i++)
			copy[i] = data[(at + i) & (reader->ring_size - 1)];
		if (reader->visit)
			reader->visit(reader->context, file, number, &record, copy + sizeof(record) + ids);
		tail += record.size;
		count++;
	}
	__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
	return count;
}

uint64_t reader_drain(struct reader *reader)
{
	uint64_t count = 0;

	reader_open_files(reader);
	for (size_t i = 0; i < reader->count; i++) {
		struct reader_file *file = &reader->files[i];
		uint32_t rings = __atomic_load_n(&file->first->ring_count, __ATOMIC_ACQUIRE);

		for (uint32_t j = 0; j < rings; j++) {
			if (!file->rings[j])
				file->rings[j] = mmap(NULL, PROVIDER_SHM_PAGE + reader->ring_size,
						      PROT_READ | PROT_WRITE, MAP_SHARED, file->fd,
						      (off_t)PROVIDER_SHM_RING_OFFSET(reader->ring_size, j));
			if (file->rings[j] == MAP_FAILED)
				abort();
			count += reader_drain_ring(reader, file, j);
		}
	}
	return count;
}

uint64_t reader_lost(const struct reader *reader)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < reader->count; i++) {
		for (uint32_t j = 0; j < PROVIDER_SHM_PROVIDERS_MAX; j++)
			lost += __atomic_load_n(&reader->files[i].first->lost[j], __ATOMIC_ACQUIRE);
	}
	return lost;
}

void reader_stop(struct reader *reader, bool dead)
{
	char name[PROVIDER_SHM_NAME_SIZE], path[512];

	if (!dead) {
		snprintf(name, sizeof(name), PROVIDER_SHM_SESSION_NAME, reader->slot);
		reader_path(reader, name, path);
		unlink(path);
		reader_each_provider(reader, reader_turn_off_one);
		reader_drain(reader);
	}
	for (size_t i = 0; i < reader->count; i++) {
		struct reader_file *file = &reader->files[i];

		for (uint32_t j = 0; j < PROVIDER_SHM_RINGS_MAX && file->rings[j]; j++)
			munmap(file->rings[j], PROVIDER_SHM_PAGE + reader->ring_size);
		munmap(file->first, PROVIDER_SHM_PAGE);
		close(file->fd);
		reader_path(reader, file->name, path);
		if (!dead)
			unlink(path);
	}
	close(reader->lock);
	reader->count = 0;
	memset(reader->files, 0, sizeof(reader->files));
}

void reader_folder(char path[64])
{
	snprintf(path, 64, "/dev/shm/ptl-test-XXXXXX");
	if (!mkdtemp(path))
		abort();
	setenv(PROVIDER_SHM_FOLDER_VARIABLE, path, 1);
}

void reader_remove_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		char name[512];

		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (entry->d_type != DT_DIR)
			unlink(name);
	}
	if (folder)
		closedir(folder);
	rmdir(path);
}
