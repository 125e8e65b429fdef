/* SPDX-License-Identifier: BSD-2-Clause */
/* The process's file: made for the first provider, and again in a forked child. Safe in signal handlers. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h> /* renameat */
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <ptl/trace.h>

#include "provider/names.h"
#include "provider/state.h"

#define MAP_SIZE PTL_SHARE_HEAP_OFFSET

struct ptl_this_process ptl_this_process;
struct ptl_enabled ptl_nothing_enabled;

static uint64_t no_instance;
uint64_t *ptl_instance = &no_instance;

uint32_t ptl_thread_id(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

uint64_t ptl_random(void)
{
	static uint64_t calls;
	struct timespec now;
	uint64_t number;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		number = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^ (uint64_t)getpid() << 44;
		number += __atomic_add_fetch(&calls, 0x9e3779b97f4a7c15u, __ATOMIC_RELAXED);
	}
	return number ? number : 1;
}

/* ---- the lock ---- */

static void give_back(const struct ptl_guard *before)
{
	pthread_sigmask(SIG_SETMASK, &before->signals, NULL);
	pthread_setcancelstate(before->cancellation, NULL);
}

bool ptl_process_lock(struct ptl_guard *before)
{
	static const struct timespec pause = {0, 1000000};
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
	uint32_t self = ptl_thread_id(), holder = 0;
	sigset_t blocked;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&blocked, faults[i]);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancellation);
	pthread_sigmask(SIG_BLOCK, &blocked, &before->signals);
	while (!__atomic_compare_exchange_n(&ptl_this_process.lock, &holder, self, false,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (holder == self) {
			give_back(before);
			return false;
		}
		syscall(SYS_futex, &ptl_this_process.lock, FUTEX_WAIT_PRIVATE, holder, &pause, NULL, 0);
		holder = 0;
	}
	return true;
}

void ptl_process_unlock(const struct ptl_guard *before)
{
	__atomic_store_n(&ptl_this_process.lock, 0, __ATOMIC_RELEASE);
	syscall(SYS_futex, &ptl_this_process.lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	give_back(before);
}

/* ---- the file ---- */

static void describe(struct ptl_share_process *header)
{
	struct timespec now;
	struct stat status;

	memset(header, 0, sizeof(*header));
	clock_gettime(CLOCK_MONOTONIC, &now);
	header->magic = PTL_SHARE_PROCESS_MAGIC;
	header->version = PTL_SHARE_VERSION;
	header->pid = ptl_this_process.pid;
	header->id = ptl_this_process.id;
	header->start = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	header->clock = PTL_CLOCK_MONOTONIC;
	header->heap_end = PTL_SHARE_HEAP_OFFSET + ptl_this_process.heap_size;
	header->provider_count = ptl_this_process.entry_count;
	if (stat("/proc/self/ns/pid", &status) == 0)
		header->pid_namespace = status.st_ino;
	strncpy(header->program, program_invocation_short_name, sizeof(header->program) - 1);
}

/* What the entry's page holds behind the words of sessions. */
static bool write_entry(int file, uint32_t number)
{
	const struct ptl_provider_entry *entry = &ptl_this_process.entries[number];
	struct {
		uint32_t state;
		uint32_t flags;
		struct ptl_guid guid;
		char name[PTL_SHARE_PROVIDER_NAME_SIZE];
	} page;

	_Static_assert(sizeof(page) == sizeof(struct ptl_share_provider) -
					       offsetof(struct ptl_share_provider, state),
		       "as in the layout");
	page.state = entry->provider ? PTL_SHARE_REGISTERED : PTL_SHARE_UNREGISTERED;
	page.flags = 0; /* nobody listens in a forked child */
	page.guid = entry->guid;
	memcpy(page.name, entry->name, sizeof(page.name));
	return ptl_write_at(file, &page, sizeof(page),
			    PTL_SHARE_PROVIDER_OFFSET(number) +
				    offsetof(struct ptl_share_provider, state));
}

static bool fill_file(int file)
{
	static struct ptl_share_process header; /* the lock is held */

	describe(&header);
	/* All pages that will be touched are allocated: a full folder is no SIGBUS. */
	if (ftruncate(file, (off_t)(MAP_SIZE + ptl_this_process.heap_size)) ||
	    fallocate(file, 0, 0, (off_t)PTL_SHARE_PROVIDER_OFFSET(ptl_this_process.entry_count)) ||
	    !ptl_write_at(file, &header, sizeof(header), 0) ||
	    !ptl_write_at(file, ptl_this_process.heap, ptl_this_process.heap_size, PTL_SHARE_HEAP_OFFSET))
		return false;
	for (uint32_t i = 0; i < ptl_this_process.entry_count; i++) {
		if (!write_entry(file, i))
			return false;
	}
	return true;
}

/*
 * Puts the mapping where that of a former life was, which pointers in providers refer to. Not before
 * sessions were looked for: another thread would find that nobody wants anything.
 */
static bool put_in_place(void *fresh)
{
	if (ptl_this_process.map)
		return mremap(fresh, MAP_SIZE, MAP_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
			      ptl_this_process.map) != MAP_FAILED;
	ptl_this_process.map = fresh;
	return true;
}

/* Fills the file, shows it to recorders, and looks for sessions. */
static bool make_from(int folder, int file, const char *new_name)
{
	char name[PTL_SHARE_NAME_SIZE];
	uint8_t *fresh;

	if (!fill_file(file))
		return false;
	fresh = mmap(NULL, MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (fresh == MAP_FAILED)
		return false;
	ptl_name_process(name, ptl_this_process.pid, ptl_this_process.id);
	if (renameat(folder, new_name, folder, name)) {
		munmap(fresh, MAP_SIZE);
		return false;
	}
	for (uint32_t i = 0; i < ptl_this_process.entry_count; i++) {
		if (ptl_this_process.entries[i].provider)
			ptl_process_look(fresh, i);
	}
	if (put_in_place(fresh))
		return true;
	munmap(fresh, MAP_SIZE);
	unlinkat(folder, name, 0);
	return false;
}

static bool make_file(void)
{
	char new_name[PTL_SHARE_NAME_SIZE];
	bool made = false;
	int folder, file;

	if (!ptl_folder_make(ptl_this_process.folder))
		return false;
	folder = ptl_folder_open(ptl_this_process.folder);
	if (folder < 0)
		return false;
	ptl_this_process.pid = (uint32_t)getpid();
	ptl_this_process.id = ptl_random();
	ptl_this_process.made_rings = false;
	memset(ptl_this_process.slots, 0, sizeof(ptl_this_process.slots));
	file = ptl_folder_new_file(folder, new_name);
	if (file >= 0) {
		made = make_from(folder, file, new_name);
		if (!made)
			unlinkat(folder, new_name, 0);
		close(file);
	}
	close(folder);
	return made;
}

/* Nothing is enabled, for good: there is no file to enable it in. */
static void map_nothing(void)
{
	if (ptl_this_process.map)
		mmap(ptl_this_process.map, MAP_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

bool ptl_process_make(void)
{
	bool forked = ptl_this_process.map && !ptl_this_instance();

	if (ptl_this_process.map && !forked)
		return true;
	if (!make_file()) {
		map_nothing();
		if (forked)
			__atomic_store_n(ptl_instance, ptl_random(), __ATOMIC_RELEASE);
		return false;
	}
	__atomic_store_n(ptl_instance, ptl_this_process.id, __ATOMIC_RELEASE);
	return true;
}

bool ptl_process_write_heap(size_t from)
{
	char name[PTL_SHARE_NAME_SIZE];
	int folder = ptl_folder_open(ptl_this_process.folder), file;
	bool written;

	if (folder < 0)
		return false;
	ptl_name_process(name, ptl_this_process.pid, ptl_this_process.id);
	file = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	close(folder);
	if (file < 0)
		return false;
	/* Entries that are yet to come are one page further. */
	written = fallocate(file, 0, 0, (off_t)PTL_SHARE_PROVIDER_OFFSET(
						ptl_this_process.entry_count < PTL_SHARE_PROVIDERS_MAX
							? ptl_this_process.entry_count + 1
							: PTL_SHARE_PROVIDERS_MAX)) == 0 &&
		  ptl_write_at(file, ptl_this_process.heap + from, ptl_this_process.heap_size - from,
			       PTL_SHARE_HEAP_OFFSET + from);
	close(file);
	if (written)
		__atomic_store_n(&ptl_shared_header()->heap_end,
				 PTL_SHARE_HEAP_OFFSET + ptl_this_process.heap_size, __ATOMIC_RELEASE);
	return written;
}

/* ---- sessions ---- */

static bool concerns_us(const struct ptl_share_session *session)
{
	if (session->flags & PTL_SHARE_SESSION_EVERYONE)
		return true;
	for (uint32_t i = 0; i < ptl_this_process.session_count; i++) {
		if (ptl_this_process.sessions[i] == session->id)
			return true;
	}
	return false;
}

void ptl_process_look(uint8_t *map, uint32_t number)
{
	const struct ptl_provider_entry *entry = &ptl_this_process.entries[number];
	struct ptl_share_provider *shared = (void *)(map + PTL_SHARE_PROVIDER_OFFSET(number));
	struct ptl_enabled *enabled = &shared->enabled;
	struct ptl_share_session_file *file = &ptl_this_process.file;
	int folder = ptl_folder_open(ptl_this_process.folder);

	if (folder < 0)
		return;
	for (unsigned slot = 0; slot < PTL_SESSIONS_MAX; slot++) {
		uint64_t session, keywords;
		uint8_t level;

		if (!ptl_folder_session(folder, slot, file) || !concerns_us(&file->session) ||
		    !ptl_share_session_wants(file, entry->name, &entry->guid, &level, &keywords))
			continue;
		session = file->session.id;
		ptl_share_turn_on(enabled, slot, session, level, keywords);
		/* It may have ended meanwhile, before the bit was there for it to clear. */
		if (!ptl_folder_session(folder, slot, file) || file->session.id != session)
			ptl_share_turn_off(enabled, slot, session);
	}
	close(folder);
}
