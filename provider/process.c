/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of this process: made for the first provider, and again in a forked child. Safe in signal handlers. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h> /* renameat */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <ptl/trace.h>

#include "provider/names.h"
#include "provider/state.h"

#define MAP_SIZE PROVIDER_SHM_HEAP_OFFSET
/* milliseconds to wait for a session in a new folder, if a recorder gave this program a session id */
#define NEW_FOLDER_WAITS 100

struct provider_this_process provider_this_process;
struct ptl_enabled ptl_nothing_enabled;

static uint64_t no_instance;
uint64_t *provider_instance = &no_instance;

uint32_t provider_thread_id(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* ---- the lock ---- */

static void give_back(const struct provider_guard *before)
{
	pthread_sigmask(SIG_SETMASK, &before->signals, NULL);
	pthread_setcancelstate(before->cancellation, NULL);
}

bool provider_process_lock(struct provider_guard *before)
{
	static const struct timespec pause = {0, 1000000};
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
	uint32_t self = provider_thread_id(), holder = 0;
	sigset_t blocked;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&blocked, faults[i]);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancellation);
	pthread_sigmask(SIG_BLOCK, &blocked, &before->signals);
	while (!__atomic_compare_exchange_n(&provider_this_process.lock, &holder, self, false, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		if (holder == self) {
			give_back(before);
			return false;
		}
		syscall(SYS_futex, &provider_this_process.lock, FUTEX_WAIT_PRIVATE, holder, &pause, NULL, 0);
		holder = 0;
	}
	return true;
}

void provider_process_unlock(const struct provider_guard *before)
{
	__atomic_store_n(&provider_this_process.lock, 0, __ATOMIC_RELEASE);
	syscall(SYS_futex, &provider_this_process.lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	give_back(before);
}

/* ---- the file ---- */

static bool concerns_us(const struct provider_shm_session *session)
{
	if (session->flags & PROVIDER_SHM_SESSION_EVERYONE)
		return true;
	for (uint32_t i = 0; i < provider_this_process.session_count; i++) {
		if (provider_this_process.sessions[i] == session->id)
			return true;
	}
	return false;
}

static void describe_process(struct provider_shm_process *header)
{
	struct timespec now;
	struct stat status;

	memset(header, 0, sizeof(*header));
	clock_gettime(CLOCK_MONOTONIC, &now);
	header->magic = PROVIDER_SHM_PROCESS_MAGIC;
	header->version = PROVIDER_SHM_VERSION;
	header->pid = provider_this_process.pid;
	header->id = provider_this_process.id;
	header->start = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	header->clock = PTL_CLOCK_MONOTONIC;
	header->heap_end = PROVIDER_SHM_HEAP_OFFSET + provider_this_process.heap_size;
	header->provider_count = provider_this_process.entry_count;
	if (stat("/proc/self/ns/pid", &status) == 0)
		header->pid_namespace = status.st_ino;
	strncpy(header->program, program_invocation_short_name, sizeof(header->program) - 1);
}

/* Writes the entry's page behind the words of sessions. */
static bool write_entry(int file, uint32_t number)
{
	const struct provider_entry *entry = &provider_this_process.entries[number];
	struct {
		uint32_t state;
		uint32_t flags;
		struct ptl_guid guid;
		char name[PROVIDER_SHM_PROVIDER_NAME_SIZE];
		struct ptl_guid group;
	} page;

	_Static_assert(sizeof(page) ==
			       sizeof(struct provider_shm_provider) - offsetof(struct provider_shm_provider, state),
		       "as in the layout");
	page.state = entry->provider ? PROVIDER_SHM_REGISTERED : PROVIDER_SHM_UNREGISTERED;
	page.flags = 0; /* a forked child has no listener */
	page.guid = entry->guid;
	memcpy(page.name, entry->name, sizeof(page.name));
	page.group = entry->group;
	return provider_write_at(file, &page, sizeof(page),
				 PROVIDER_SHM_PROVIDER_OFFSET(number) + offsetof(struct provider_shm_provider, state));
}

static bool fill_file(int file)
{
	static struct provider_shm_process header; /* protected by the lock */

	describe_process(&header);
	/* Allocate all pages in advance: a full file system would cause SIGBUS later. */
	if (ftruncate(file, (off_t)(MAP_SIZE + provider_this_process.heap_size)) ||
	    fallocate(file, 0, 0, (off_t)PROVIDER_SHM_PROVIDER_OFFSET(provider_this_process.entry_count)) ||
	    !provider_write_at(file, &header, sizeof(header), 0) ||
	    !provider_write_at(file, provider_this_process.heap, provider_this_process.heap_size,
			       PROVIDER_SHM_HEAP_OFFSET))
		return false;
	for (uint32_t i = 0; i < provider_this_process.entry_count; i++) {
		if (!write_entry(file, i))
			return false;
	}
	return true;
}

/*
 * Replaces the mapping of the parent process, which pointers in providers refer to. Call after looking for sessions:
 * otherwise another thread would see no session in between.
 */
static bool put_in_place(void *fresh)
{
	if (provider_this_process.map)
		return mremap(fresh, MAP_SIZE, MAP_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, provider_this_process.map) !=
		       MAP_FAILED;
	provider_this_process.map = fresh;
	return true;
}

/* Fills the file, makes the file visible to recorders, and looks for sessions. */
static bool make_from(int folder, int file, const char *new_name)
{
	char name[PROVIDER_SHM_NAME_SIZE];
	uint8_t *fresh;

	if (!fill_file(file))
		return false;
	fresh = mmap(NULL, MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (fresh == MAP_FAILED)
		return false;
	provider_name_process(name, provider_this_process.pid, provider_this_process.id);
	if (renameat(folder, new_name, folder, name)) {
		munmap(fresh, MAP_SIZE);
		return false;
	}
	for (uint32_t i = 0; i < provider_this_process.entry_count; i++) {
		if (provider_this_process.entries[i].provider)
			provider_process_look(fresh, i);
	}
	if (put_in_place(fresh))
		return true;
	munmap(fresh, MAP_SIZE);
	unlinkat(folder, name, 0);
	return false;
}

/*
 * Waits for the session of another user's recorder (root). Such a recorder cannot have a session in a folder that did
 * not exist; it watches for the folder. Without the wait, early events would be lost, once per user and boot.
 */
static void await_session(int folder)
{
	static const struct timespec pause = {0, 1000000};
	struct provider_shm_session_file *file = &provider_this_process.file;

	for (unsigned i = 0; provider_this_process.session_count && i < NEW_FOLDER_WAITS; i++) {
		for (unsigned slot = 0; slot < PTL_SESSIONS_MAX; slot++) {
			if (provider_folder_session(folder, slot, file) && concerns_us(&file->session))
				return;
		}
		nanosleep(&pause, NULL);
	}
}

static bool make_file(void)
{
	char new_name[PROVIDER_SHM_NAME_SIZE];
	bool is_new, made = false;
	int folder, file;

	if (!provider_folder_make(provider_this_process.folder, &is_new))
		return false;
	folder = provider_folder_open(provider_this_process.folder);
	if (folder < 0)
		return false;
	if (is_new)
		await_session(folder);
	provider_this_process.pid = (uint32_t)getpid();
	provider_this_process.id = provider_random();
	provider_this_process.made_rings = false;
	memset(provider_this_process.slots, 0, sizeof(provider_this_process.slots));
	file = provider_folder_new_file(folder, new_name);
	if (file >= 0) {
		made = make_from(folder, file, new_name);
		if (!made)
			unlinkat(folder, new_name, 0);
		close(file);
	}
	close(folder);
	return made;
}

/* Disables all providers permanently, because the process has no file. */
static void map_nothing(void)
{
	if (provider_this_process.map)
		mmap(provider_this_process.map, MAP_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

bool provider_process_make(void)
{
	bool forked = provider_this_process.map && !provider_this_instance();

	if (provider_this_process.map && !forked)
		return true;
	if (!make_file()) {
		map_nothing();
		if (forked)
			__atomic_store_n(provider_instance, provider_random(), __ATOMIC_RELEASE);
		return false;
	}
	__atomic_store_n(provider_instance, provider_this_process.id, __ATOMIC_RELEASE);
	return true;
}

bool provider_process_write_heap(size_t from)
{
	char name[PROVIDER_SHM_NAME_SIZE];
	int folder = provider_folder_open(provider_this_process.folder), file;
	bool written;

	if (folder < 0)
		return false;
	provider_name_process(name, provider_this_process.pid, provider_this_process.id);
	file = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	close(folder);
	if (file < 0)
		return false;
	/* Also allocate the page of the next entry. */
	written = fallocate(file, 0, 0,
			    (off_t)PROVIDER_SHM_PROVIDER_OFFSET(provider_this_process.entry_count <
										PROVIDER_SHM_PROVIDERS_MAX
									? provider_this_process.entry_count + 1
									: PROVIDER_SHM_PROVIDERS_MAX)) == 0 &&
		  provider_write_at(file, provider_this_process.heap + from, provider_this_process.heap_size - from,
				    PROVIDER_SHM_HEAP_OFFSET + from);
	close(file);
	if (written)
		__atomic_store_n(&provider_shared_header()->heap_end,
				 PROVIDER_SHM_HEAP_OFFSET + provider_this_process.heap_size, __ATOMIC_RELEASE);
	return written;
}

/* ---- sessions ---- */

void provider_process_look(uint8_t *map, uint32_t number)
{
	const struct provider_entry *entry = &provider_this_process.entries[number];
	const struct provider_shm_identity identity = {entry->name, &entry->guid, &entry->group};
	struct provider_shm_provider *shared = (void *)(map + PROVIDER_SHM_PROVIDER_OFFSET(number));
	struct ptl_enabled *enabled = &shared->enabled;
	struct provider_shm_session_file *file = &provider_this_process.file;
	int folder = provider_folder_open(provider_this_process.folder);

	if (folder < 0)
		return;
	for (unsigned slot = 0; slot < PTL_SESSIONS_MAX; slot++) {
		uint64_t session, keywords;
		uint8_t level;

		if (!provider_folder_session(folder, slot, file) || !concerns_us(&file->session) ||
		    !provider_shm_session_wants(file, &identity, &level, &keywords))
			continue;
		session = file->session.id;
		provider_shm_turn_on(enabled, slot, session, level, keywords);
		/* The session may have ended before the bit was set, and thus not cleared the bit. */
		if (!provider_folder_session(folder, slot, file) || file->session.id != session)
			provider_shm_turn_off(enabled, slot, session);
		else
			provider_folder_answer(folder, file, &identity);
	}
	close(folder);
}
