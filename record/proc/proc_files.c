/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads files of /proc/PID. Each file may vanish, or belong to another process, at any moment. */
#include "record/proc/proc_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "record/clock/clock.h"

#define NAME_SIZE 64
#define PATH_SIZE 4096
#define ANCESTORS_MAX 256
#define STRINGS_MAX (1u << 20) /* longer command lines are cut */
#define NANOSECONDS 1000000000ull
#define KERNEL_THREAD 0x00200000 /* PF_KTHREAD of linux/sched.h */

static int open_entry(uint32_t pid, const char *entry)
{
	char name[NAME_SIZE];

	snprintf(name, sizeof(name), "/proc/%u/%s", pid, entry);
	return open(name, O_RDONLY | O_CLOEXEC);
}

/* Reads the beginning of the file, and adds a zero. The text is empty if unreadable. */
static void read_entry(uint32_t pid, const char *entry, char *text, size_t room)
{
	const int fd = open_entry(pid, entry);
	const ssize_t n = fd < 0 ? 0 : read(fd, text, room - 1);

	text[n > 0 ? n : 0] = 0;
	if (fd >= 0)
		close(fd);
}

/* ---- stat ------------------------------------------------------------------------------------ */

/* Numbers of fields as in proc(5). */
enum { STATE = 3, PARENT = 4, FLAGS = 9, START = 22, START_CODE = 26, START_STACK = 28, EXIT_CODE = 52 };

/* Parses fields from the state on, behind the name, which may contain any character. */
bool record_proc_parse_stat(const char *text, struct record_proc_stat *stat)
{
	const char *at = strrchr(text, ')');
	uint64_t number[EXIT_CODE + 1] = {0};
	int field = STATE;
	char *end;

	if (!at || at[1] != ' ' || !at[2])
		return false;
	stat->state = at[2];
	for (at += 3; field < EXIT_CODE; at = end) {
		const unsigned long long value = strtoull(at, &end, 10);

		if (end == at)
			break;
		number[++field] = value;
	}
	if (field < START)
		return false;
	stat->parent = (uint32_t)number[PARENT];
	stat->kernel_thread = number[FLAGS] & KERNEL_THREAD;
	stat->start_ticks = number[START];
	stat->program = number[START_CODE] * 31 + number[START_STACK];
	stat->exit_status = (uint32_t)number[EXIT_CODE];
	return true;
}

bool record_proc_stat(uint32_t pid, struct record_proc_stat *stat)
{
	char text[1024];

	read_entry(pid, "stat", text, sizeof(text));
	return record_proc_parse_stat(text, stat);
}

bool record_proc_descends(uint32_t pid, uint32_t ancestor)
{
	struct record_proc_stat stat = {.parent = pid};

	for (unsigned i = 0; i < ANCESTORS_MAX && stat.parent > 1; i++) {
		if (!record_proc_stat(stat.parent, &stat))
			return false;
		if (stat.parent == ancestor)
			return true;
	}
	return false;
}

/* Finds the last number of a line "NAME:\t1\t2\n"; with `second`, the second number. */
static bool find_number(const char *text, const char *name, bool second, uint32_t *number)
{
	const char *at = strstr(text, name);
	const char *end = at ? strchr(at + 1, '\n') : NULL;
	unsigned count = 0;

	if (!end)
		return false;
	for (at += strlen(name); at < end && !(second && count == 2); count++) {
		char *behind;
		const unsigned long value = strtoul(at, &behind, 10);

		if (behind == at || behind > end)
			break;
		*number = (uint32_t)value;
		at = behind;
	}
	return count > 0;
}

bool record_proc_parse_status(const char *text, uint32_t *own_pid, uint32_t *user)
{
	/* The effective user, and the pid in the innermost namespace. */
	return find_number(text, "\nUid:", true, user) && find_number(text, "\nNSpid:", false, own_pid);
}

bool record_proc_identity(uint32_t pid, uint32_t *own_pid, uint32_t *user)
{
	char text[4096];

	read_entry(pid, "status", text, sizeof(text));
	return record_proc_parse_status(text, own_pid, user);
}

uint64_t record_proc_start_time(uint64_t start_ticks)
{
	const uint64_t rate = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec boot, monotonic;
	int64_t ahead;
	uint64_t start;

	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	/* The start uses boot time, which includes suspensions. In a time namespace boot time may lag behind. */
	ahead = (int64_t)(boot.tv_sec - monotonic.tv_sec) * (int64_t)NANOSECONDS + (boot.tv_nsec - monotonic.tv_nsec);
	/* The second clock was read later: a difference below a millisecond is no suspension. */
	if (ahead > 0 && ahead < (int64_t)NANOSECONDS / 1000)
		ahead = 0;
	start = start_ticks / rate * NANOSECONDS + start_ticks % rate * (NANOSECONDS / rate);
	return record_clock_of_monotonic((int64_t)start > ahead ? start - (uint64_t)ahead : 1);
}

/* ---- strings --------------------------------------------------------------------------------- */

static void add_link(uint32_t pid, const char *entry, struct ptl_bytes *strings)
{
	char name[NAME_SIZE], path[PATH_SIZE];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/%u/%s", pid, entry);
	n = readlink(name, path, sizeof(path));
	if (n > 0)
		common_write_bytes(strings, path, (size_t)n);
	common_write_bytes(strings, "", 1);
}

bool record_proc_strings(uint32_t pid, struct ptl_bytes *strings)
{
	const size_t before = strings->size;
	char piece[4096];
	size_t left = STRINGS_MAX;
	bool has_path;
	ssize_t n;
	int fd;

	add_link(pid, "exe", strings);
	has_path = strings->size > before + 1;
	common_write_bytes(strings, "", 1);
	add_link(pid, "cwd", strings);
	fd = open_entry(pid, "cmdline");
	while (fd >= 0 && left && (n = read(fd, piece, sizeof(piece))) > 0) {
		const size_t taken = (size_t)n < left ? (size_t)n : left;

		common_write_bytes(strings, piece, taken);
		left -= taken;
	}
	if (fd >= 0)
		close(fd);
	return has_path && left < STRINGS_MAX;
}

bool record_proc_name(uint32_t pid, char *name, size_t room)
{
	const int fd = open_entry(pid, "comm");
	const ssize_t n = fd < 0 ? -1 : read(fd, name, room - 1);

	if (fd >= 0)
		close(fd);
	name[n < 0 ? 0 : n] = 0;
	name[strcspn(name, "\n")] = 0;
	return *name != 0;
}

/* ---- threads and children -------------------------------------------------------------------- */

uint32_t record_proc_of_thread(uint32_t tid)
{
	char path[64], line[256];
	unsigned pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %u", &pid) == 1)
			break;
	if (file)
		fclose(file);
	return pid;
}

int record_proc_threads(uint32_t pid, int (*visit)(void *context, uint32_t tid), void *context)
{
	char name[NAME_SIZE];
	struct dirent *entry;
	int status = 0;
	DIR *folder;

	snprintf(name, sizeof(name), "/proc/%u/task", pid);
	folder = opendir(name);
	if (!folder)
		return 0;
	while (status == 0 && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			status = visit(context, (uint32_t)strtoul(entry->d_name, NULL, 10));
	closedir(folder);
	return status;
}

int record_proc_children(uint32_t pid, uint32_t tid, int (*visit)(void *context, uint32_t child), void *context)
{
	unsigned child;
	char name[NAME_SIZE];
	FILE *file;
	int status = 0;

	snprintf(name, sizeof(name), "/proc/%u/task/%u/children", pid, tid);
	file = fopen(name, "re");
	if (!file)
		return 0;
	while (status == 0 && fscanf(file, "%u", &child) == 1)
		status = visit(context, child);
	fclose(file);
	return status;
}

int record_proc_processes(int (*visit)(void *context, uint32_t pid), void *context)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	int status = 0;

	if (!folder)
		return common_fail_errno("/proc");
	while (status == 0 && (entry = readdir(folder))) {
		const unsigned long pid = strtoul(entry->d_name, NULL, 10);

		if (pid && pid <= INT32_MAX)
			status = visit(context, (uint32_t)pid);
	}
	closedir(folder);
	return status;
}

bool record_proc_has_children(void)
{
	return access("/proc/thread-self/children", R_OK) == 0;
}

/* ---- exit status ----------------------------------------------------------------------------- */

/* First 64 bytes of struct pidfd_info, which is missing in older headers of <linux/pidfd.h>. */
struct exit_info {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
#define PIDFD_GET_INFO_CALL _IOWR(0xFF, 11, struct exit_info)
#define PIDFD_INFO_EXIT_MASK (1ull << 3)

static bool status_by_pidfd(int pidfd, uint32_t *status)
{
	struct exit_info info = {.mask = PIDFD_INFO_EXIT_MASK};

	_Static_assert(sizeof(struct exit_info) == 64, "layout");
	if (ioctl(pidfd, PIDFD_GET_INFO_CALL, &info) < 0 || !(info.mask & PIDFD_INFO_EXIT_MASK))
		return false;
	*status = (uint32_t)info.exit_code;
	return true;
}

static bool zombie_status(int pidfd, uint32_t pid, uint32_t *status)
{
	struct record_proc_stat stat;

	/* A successful null signal behind the look shows that the pid still means the same process. */
	if (!record_proc_stat(pid, &stat) || stat.state != 'Z' || syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) < 0)
		return false;
	*status = stat.exit_status;
	return true;
}

bool record_proc_wait_status(int pidfd, uint32_t pid, uint32_t *status)
{
	return pidfd >= 0 && (status_by_pidfd(pidfd, status) || zombie_status(pidfd, pid, status));
}

bool record_proc_has_ended(int pidfd)
{
	struct pollfd ready = {.fd = pidfd, .events = POLLIN};

	return pidfd >= 0 && poll(&ready, 1, 0) > 0 && ready.revents & POLLIN;
}

void record_proc_name_strings(struct ptl_bytes *strings, const char *path, const char *name)
{
	common_write_bytes(strings, path, strlen(path) + 1);
	common_write_bytes(strings, "\0", 2);
	if (*name)
		common_write_bytes(strings, name, strlen(name) + 1);
}
