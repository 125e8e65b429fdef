/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plays a script as the kernel would: packets into AUX areas, records into rings, wakeups. A line is one of these; T is in
 * nanoseconds since the script began, and P and H are numbers of processes and threads as they were recorded.
 *
 *   process P H              the number-th process that is really there now: 0 the command, then its children in order
 *   real P PID               the process that runs as this one
 *   packets BASE FILE        where packets come from; their TSC packets count nanoseconds, BASE is when the script begins
 *   bytes FILE                 the same, as they are
 *   map P BASE SIZE OFFSET PROTECTION T PATH
 *   exec P T NAME            fork P PARENT H PARENT_H T       end P PARENT H T
 *   start CPU P H T          in CPU P H T          out CPU P H T
 *   aux CPU FIRST END FLAGS P H T   bytes of the file into the CPU's area, waiting for room; then their AUX record
 *   burst CPU FIRST END P H T       the same without waiting: what has no room is lost, and the event stops
 *   record CPU TYPE MISC P H T HEX  a record with this body
 *   raw CPU HEX                     bytes as they are, for a kernel that cannot be trusted
 *   aux_head CPU N                  the same of the page
 *   executes P T NAME               what the kernel reports to who listens to all programs, when the process has this name
 *   enabled P                       waits until Intel PT of this process is on
 *   signal                          SIGUSR2 to ptl-record, and waits until it has stopped Intel PT and gone on
 *   pause MILLISECONDS
 *
 * Instead of a CPU, -H is the thread that has a buffer of its own.
 */
#include "tests/pmu/pmu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <ptl/pt.h>

#define READER_TIME 20000 /* milliseconds that the reader may take for something */
#define PROCESSES_MAX 64
#define BODY_MAX 8192
#define WAKE_EVERY 16 /* records */

struct ids {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu;
};

static struct {
	pid_t child;
	uint64_t start; /* of the script, in the kernel's clock */
	uint8_t *packets;
	size_t size;
	uint64_t base;
	struct {
		uint32_t recorded, real;
	} processes[PROCESSES_MAX];
	size_t process_count;
} play = {0};
static bool begun, played;

bool pmu_has_played(void)
{
	return __atomic_load_n(&played, __ATOMIC_ACQUIRE);
}

static void sleep_a_little(void)
{
	const struct timespec time = {.tv_nsec = 200000};

	nanosleep(&time, NULL);
}

/* ---- processes that are really there --------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	const char *end;
	ssize_t size;
	int fd, parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = 0;
	end = strrchr(text, ')');
	return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static pid_t nth_child(pid_t parent, unsigned n)
{
	pid_t pids[PROCESSES_MAX];
	struct dirent *entry;
	size_t count = 0;
	DIR *folder = opendir("/proc");

	while (folder && count < PROCESSES_MAX && (entry = readdir(folder))) {
		const pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid > 0 && parent_of(pid) == parent)
			pids[count++] = pid;
	}
	if (folder)
		closedir(folder);
	qsort(pids, count, sizeof(*pids), compare);
	return n >= 1 && n <= count ? pids[n - 1] : 0;
}

static uint32_t real(uint32_t recorded)
{
	for (size_t i = 0; i < play.process_count; i++)
		if (play.processes[i].recorded == recorded)
			return play.processes[i].real;
	return recorded;
}

static void add_process(uint32_t recorded, uint32_t number)
{
	if (play.process_count == PROCESSES_MAX)
		pmu_die("too many processes");
	play.processes[play.process_count].recorded = recorded;
	play.processes[play.process_count++].real = number;
}

static void take_process(uint32_t recorded, unsigned n)
{
	pid_t found = n ? 0 : play.child;

	for (int i = 0; !found && i < READER_TIME * 5; i++) {
		found = nth_child(play.child, n);
		if (!found)
			sleep_a_little();
	}
	if (!found)
		pmu_die("there is no child %u of %d", n, play.child);
	add_process(recorded, (uint32_t)found);
}

/* ---- packets --------------------------------------------------------------------------------- */

static uint64_t tsc_at(uint64_t nanoseconds)
{
	const uint64_t time = play.start + nanoseconds - pmu_clock.zero;

	return (uint64_t)((((__uint128_t)time << pmu_clock.shift) + pmu_clock.mult - 1) / pmu_clock.mult);
}

/* TSC packets count this machine's TSC from now on. From each PSB on, as packets may be cut off before one. */
static void set_times(void)
{
	struct ptl_pt_context context = {0};
	size_t at = 0;

	while (at < play.size) {
		struct ptl_pt_packet packet;
		const int used = ptl_pt_decode(play.packets + at, play.size - at, &context, &packet);

		if (used <= 0) {
			at = ptl_pt_find_psb(play.packets, play.size, at + 1);
			continue;
		}
		if (packet.kind == PTL_PT_TSC) {
			const uint64_t tsc = tsc_at(packet.tsc.tsc - play.base);

			for (unsigned i = 0; i < 7; i++)
				play.packets[at + 1 + i] = (uint8_t)(tsc >> 8 * i);
		}
		at += (size_t)used;
	}
}

static void load_packets(uint64_t base, const char *name)
{
	char path[8192];
	struct stat info;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", pmu_folder(), name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) < 0)
		pmu_die("%s: %s", path, strerror(errno));
	free(play.packets);
	play.base = base;
	play.size = (size_t)info.st_size;
	play.packets = malloc(play.size + 1);
	if (!play.packets || read(fd, play.packets, play.size) != info.st_size)
		pmu_die("%s cannot be read", path);
	close(fd);
}

static void load_timed(uint64_t base, const char *name)
{
	load_packets(base, name);
	set_times();
}

/* ---- rings ----------------------------------------------------------------------------------- */

static bool is_of(const struct pmu_event *event, int cpu)
{
	return cpu < 0 ? event->cpu == -1 && event->pid == (pid_t)real((uint32_t)-cpu) : event->cpu == cpu;
}

/* The event of Intel PT of a CPU whose rings are mapped, or the one whose records are about processes. */
static struct pmu_event *find_ring(int cpu, bool is_pt)
{
	for (size_t i = 0; i < PMU_EVENTS_MAX; i++) {
		struct pmu_event *event = &pmu_events[i];

		if (event->used && event->memory >= 0 && event->page && (event->attr.type == pmu_type) == is_pt &&
		    is_of(event, cpu) && (is_pt ? event->aux != NULL : event->attr.mmap || event->attr.mmap2))
			return event;
	}
	return NULL;
}

static struct pmu_event *ring_of(int cpu, bool is_pt)
{
	struct pmu_event *event;

	pthread_mutex_lock(&pmu_lock);
	event = find_ring(cpu, is_pt);
	pthread_mutex_unlock(&pmu_lock);
	if (!event)
		pmu_die("no %s rings of CPU %d", is_pt ? "Intel PT" : "sideband", cpu);
	return event;
}

static struct perf_event_mmap_page *page_of(const struct pmu_event *event)
{
	return (struct perf_event_mmap_page *)(void *)event->page;
}

static void wake(const struct pmu_event *event)
{
	const uint64_t one = 1;

	(void)!write(event->fd, &one, sizeof(one));
}

static void put(struct pmu_event *event, const void *data, size_t size)
{
	struct perf_event_mmap_page *page = page_of(event);
	const uint64_t head = page->data_head;
	uint8_t *ring = event->page + sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < size; i++)
		ring[(head + i) & (event->data_size - 1)] = ((const uint8_t *)data)[i];
	__atomic_store_n(&page->data_head, head + size, __ATOMIC_RELEASE);
	if (event->attr.watermark)
		wake(event);
}

/* What is behind each record, by what was asked for. */
static size_t add_trailer(const struct pmu_event *event, uint8_t *at, const struct ids *ids)
{
	const uint64_t type = event->attr.sample_type, time = play.start + ids->time;
	const uint32_t who[2] = {real(ids->pid), real(ids->tid)}, where[2] = {ids->cpu, 0};
	const uint64_t id = 7;
	size_t size = 0;

#define ADD(bit, value)                                                                                                \
	if (type & (bit)) {                                                                                            \
		memcpy(at + size, &(value), 8);                                                                        \
		size += 8;                                                                                             \
	}
	ADD(PERF_SAMPLE_TID, who)
	ADD(PERF_SAMPLE_TIME, time)
	ADD(PERF_SAMPLE_CPU, where)
	ADD(PERF_SAMPLE_IDENTIFIER, id)
#undef ADD
	return size;
}

static void record(struct pmu_event *event, uint32_t type, uint16_t misc, const void *body, size_t size,
		   const struct ids *ids)
{
	uint8_t data[BODY_MAX + 64] = {0};
	struct perf_event_header header = {.type = type, .misc = misc};
	struct perf_event_mmap_page *page = page_of(event);

	memcpy(data + sizeof(header), body, size);
	size = sizeof(header) + (size + 7) / 8 * 8;
	size += add_trailer(event, data + size, ids);
	header.size = (uint16_t)size;
	memcpy(data, &header, sizeof(header));
	if (page->data_head - __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE) + size > event->data_size) {
		event->lost++;
		return;
	}
	put(event, data, size);
}

/* ---- packets into the area ------------------------------------------------------------------- */

static uint64_t room_of(const struct pmu_event *event)
{
	const uint64_t taken = __atomic_load_n(&page_of(event)->aux_tail, __ATOMIC_ACQUIRE);

	return event->overwrites ? event->aux_size : event->aux_size - (page_of(event)->aux_head - taken);
}

static void put_aux(struct pmu_event *event, const uint8_t *bytes, size_t size)
{
	const uint64_t head = page_of(event)->aux_head;

	for (size_t i = 0; i < size; i++)
		event->aux[(head + i) & (event->aux_size - 1)] = bytes[i];
}

/* The record, then the head: what is before the head is in records. In an area that is written over, the head is a place. */
static void end_aux(struct pmu_event *event, size_t size, uint64_t flags, const struct ids *ids)
{
	struct perf_event_mmap_page *page = page_of(event);
	uint64_t body[3] = {page->aux_head, size, flags};
	uint64_t head = page->aux_head + size;

	if (event->overwrites) {
		head &= event->aux_size - 1;
		body[0] = head;
		body[1] = 0;
		body[2] |= PERF_AUX_FLAG_OVERWRITE;
	}
	if (size || flags)
		record(event, PERF_RECORD_AUX, 0, body, sizeof(body), ids);
	__atomic_store_n(&page->aux_head, head, __ATOMIC_RELEASE);
	wake(event);
}

/* The event, or another one of Intel PT that writes into its rings. */
static bool is_on(const struct pmu_event *event)
{
	bool found = false;

	for (size_t i = 0; !found && i < PMU_EVENTS_MAX; i++)
		found = pmu_events[i].used && (&pmu_events[i] == event || pmu_events[i].output == event) &&
			pmu_events[i].attr.type == pmu_type &&
			__atomic_load_n(&pmu_events[i].enabled, __ATOMIC_ACQUIRE);
	return found;
}

static void wait_until_enabled(const struct pmu_event *event)
{
	for (int i = 0; !is_on(event); i++) {
		if (i > READER_TIME * 5)
			pmu_die("Intel PT of CPU %d is not enabled again", event->cpu);
		sleep_a_little();
	}
}

static void play_aux(int cpu, size_t first, size_t end, uint64_t flags, const struct ids *ids)
{
	struct pmu_event *event = ring_of(cpu, true);

	if (end > play.size || first > end)
		pmu_die("packets %zu to %zu of %zu", first, end, play.size);
	for (int i = 0; first < end; i++) {
		const uint64_t room = room_of(event);
		const size_t size = end - first < room ? end - first : (size_t)room;

		wait_until_enabled(event);
		if (i > READER_TIME * 5)
			pmu_die("nobody takes the packets of CPU %d", cpu);
		if (!size) {
			wake(event);
			sleep_a_little();
			continue;
		}
		put_aux(event, play.packets + first, size);
		first += size;
		end_aux(event, size, first == end ? flags : 0, ids);
	}
	if (flags & PERF_AUX_FLAG_TRUNCATED && !event->overwrites)
		event->enabled = false;
}

static void play_burst(int cpu, size_t first, size_t end, const struct ids *ids)
{
	struct pmu_event *event = ring_of(cpu, true);
	const uint64_t room = room_of(event);
	const bool full = end - first > room;
	const size_t size = full ? (size_t)room : end - first;

	wait_until_enabled(event);
	put_aux(event, play.packets + first, size);
	if (full)
		event->enabled = false;
	end_aux(event, size, full ? PERF_AUX_FLAG_TRUNCATED : 0, ids);
	pmu_log("burst cpu=%d bytes=%zu lost=%zu\n", cpu, size, end - first - size);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static size_t read_hex(const char *text, uint8_t *bytes)
{
	size_t size = 0;
	unsigned byte;

	while (size < BODY_MAX && sscanf(text, "%2x", &byte) == 1) {
		bytes[size++] = (uint8_t)byte;
		text += 2;
	}
	return size;
}

struct words {
	char name[16], rest[6000];
	unsigned long long n[8];
	int count;
};

static struct ids ids_of(unsigned long long pid, unsigned long long tid, unsigned long long time,
			 unsigned long long cpu)
{
	return (struct ids){(uint32_t)pid, (uint32_t)tid, time, (uint32_t)cpu};
}

static void play_map(const struct words *w)
{
	const struct ids ids = ids_of(w->n[0], w->n[0], w->n[5], 0);
	struct pmu_event *event = ring_of(0, false);
	struct stat info = {0};
	uint8_t body[BODY_MAX] = {0};
	struct {
		uint32_t pid, tid;
		uint64_t base, size, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
	} map = {.pid = real(ids.pid),
		 .tid = real(ids.pid),
		 .base = w->n[1],
		 .size = w->n[2],
		 .offset = w->n[3],
		 .protection = (uint32_t)w->n[4],
		 .flags = 2};

	if (w->rest[0] == '/' && stat(w->rest, &info) == 0) {
		map.major = major(info.st_dev);
		map.minor = minor(info.st_dev);
		map.inode = info.st_ino;
	}
	memcpy(body, &map, sizeof(map));
	memcpy(body + sizeof(map), w->rest, strlen(w->rest) + 1);
	record(event, PERF_RECORD_MMAP2, 0, body, sizeof(map) + strlen(w->rest) + 1, &ids);
}

static void play_exec(const struct words *w)
{
	const struct ids ids = ids_of(w->n[0], w->n[0], w->n[1], 0);
	uint32_t body[6] = {real(ids.pid), real(ids.pid)};

	memcpy(body + 2, w->rest, strnlen(w->rest, 15));
	record(ring_of(0, false), PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, body, sizeof(body), &ids);
}

static void wait_for_name(pid_t pid, const char *name)
{
	char path[64], is[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	for (int i = 0; strcmp(is, name) != 0; i++) {
		const int fd = open(path, O_RDONLY | O_CLOEXEC);
		const ssize_t size = fd < 0 ? 0 : read(fd, is, sizeof(is) - 1);

		is[size > 0 ? size - 1 : 0] = 0;
		close(fd);
		if (i > READER_TIME * 5)
			pmu_die("process %d is \"%s\" and not \"%s\"", pid, is, name);
		sleep_a_little();
	}
}

static void play_executes(const struct words *w)
{
	const struct ids ids = ids_of(w->n[0], w->n[0], w->n[1], 0);
	uint32_t body[6] = {real(ids.pid), real(ids.pid)};

	memcpy(body + 2, w->rest, strnlen(w->rest, 15));
	wait_for_name((pid_t)real(ids.pid), w->rest);
	for (size_t i = 0; i < PMU_EVENTS_MAX; i++) {
		struct pmu_event *event = &pmu_events[i];

		if (event->used && event->page && event->attr.comm_exec && !event->attr.mmap && event->cpu == 0)
			record(event, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, body, sizeof(body), &ids);
	}
}

static bool is_enabled(pid_t pid)
{
	bool found = false;

	pthread_mutex_lock(&pmu_lock);
	for (size_t i = 0; i < PMU_EVENTS_MAX; i++)
		found |= pmu_events[i].used && pmu_events[i].attr.type == pmu_type && pmu_events[i].pid == pid &&
			 pmu_events[i].enabled;
	pthread_mutex_unlock(&pmu_lock);
	return found;
}

static void play_enabled(const struct words *w)
{
	const pid_t pid = (pid_t)real((uint32_t)w->n[0]);

	for (int i = 0; !is_enabled(pid); i++) {
		if (i > READER_TIME * 5)
			pmu_die("Intel PT of process %d is not enabled", pid);
		sleep_a_little();
	}
}

static void play_task(const struct words *w, uint32_t type)
{
	const bool fork = type == PERF_RECORD_FORK;
	const struct ids ids = ids_of(w->n[1], fork ? w->n[3] : w->n[2], w->n[fork ? 4 : 3], 0);
	const struct {
		uint32_t pid, parent, tid, parent_tid;
		uint64_t time;
	} body = {real((uint32_t)w->n[0]), real((uint32_t)w->n[1]), real((uint32_t)w->n[2]),
		  real((uint32_t)w->n[fork ? 3 : 1]), play.start + ids.time};

	record(ring_of(0, false), type, 0, &body, sizeof(body), &ids);
}

static void play_record(const struct words *w, uint32_t type, uint16_t misc, const void *body, size_t size)
{
	const struct ids ids = ids_of(w->n[1], w->n[2], w->n[3], w->n[0]);

	record(ring_of((int)w->n[0], true), type, misc, body, size, &ids);
}

static void play_start(const struct words *w)
{
	const uint32_t body[2] = {real((uint32_t)w->n[1]), real((uint32_t)w->n[2])};

	play_record(w, PERF_RECORD_ITRACE_START, 0, body, sizeof(body));
}

static void play_any(const struct words *w)
{
	const struct ids ids = ids_of(w->n[3], w->n[4], w->n[5], w->n[0]);
	uint8_t body[BODY_MAX];

	record(ring_of((int)w->n[0], true), (uint32_t)w->n[1], (uint16_t)w->n[2], body, read_hex(w->rest, body), &ids);
}

static void play_raw(const struct words *w)
{
	uint8_t body[BODY_MAX];

	put(ring_of((int)w->n[0], true), body, read_hex(w->rest, body));
}

/* The reader stops Intel PT, reads, and starts it again. */
static void play_signal(void)
{
	struct pmu_event *event = NULL;
	uint64_t starts;

	for (size_t i = 0; i < PMU_EVENTS_MAX && !event; i++)
		if (pmu_events[i].used && pmu_events[i].aux)
			event = &pmu_events[i];
	if (!event)
		pmu_die("nothing is there to be kept");
	starts = __atomic_load_n(&event->starts, __ATOMIC_ACQUIRE);
	kill(getpid(), SIGUSR2);
	for (int i = 0; __atomic_load_n(&event->starts, __ATOMIC_ACQUIRE) == starts; i++) {
		if (i > READER_TIME * 5)
			pmu_die("SIGUSR2 does nothing");
		sleep_a_little();
	}
}

static void play_line(const struct words *w)
{
	const struct ids ids = ids_of(w->n[3], w->n[4], w->n[5], w->n[0]);
	const struct ids flagged = ids_of(w->n[4], w->n[5], w->n[6], w->n[0]);
	const struct timespec time = {(time_t)(w->n[0] / 1000), (long)(w->n[0] % 1000 * 1000000)};

	if (!strcmp(w->name, "process"))
		take_process((uint32_t)w->n[0], (unsigned)w->n[1]);
	else if (!strcmp(w->name, "real"))
		add_process((uint32_t)w->n[0], (uint32_t)w->n[1]);
	else if (!strcmp(w->name, "packets"))
		load_timed(w->n[0], w->rest);
	else if (!strcmp(w->name, "bytes"))
		load_packets(0, w->rest);
	else if (!strcmp(w->name, "map"))
		play_map(w);
	else if (!strcmp(w->name, "exec"))
		play_exec(w);
	else if (!strcmp(w->name, "fork"))
		play_task(w, PERF_RECORD_FORK);
	else if (!strcmp(w->name, "end"))
		play_task(w, PERF_RECORD_EXIT);
	else if (!strcmp(w->name, "start"))
		play_start(w);
	else if (!strcmp(w->name, "in"))
		play_record(w, PERF_RECORD_SWITCH, 0, "", 0);
	else if (!strcmp(w->name, "out"))
		play_record(w, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, "", 0);
	else if (!strcmp(w->name, "aux"))
		play_aux((int)w->n[0], w->n[1], w->n[2], w->n[3], &flagged);
	else if (!strcmp(w->name, "burst"))
		play_burst((int)w->n[0], w->n[1], w->n[2], &ids);
	else if (!strcmp(w->name, "record"))
		play_any(w);
	else if (!strcmp(w->name, "raw"))
		play_raw(w);
	else if (!strcmp(w->name, "aux_head"))
		__atomic_store_n(&page_of(ring_of((int)w->n[0], true))->aux_head, w->n[1], __ATOMIC_RELEASE);
	else if (!strcmp(w->name, "executes"))
		play_executes(w);
	else if (!strcmp(w->name, "enabled"))
		play_enabled(w);
	else if (!strcmp(w->name, "signal"))
		play_signal();
	else if (!strcmp(w->name, "pause"))
		nanosleep(&time, NULL);
	else
		pmu_die("script: %s", w->name);
}

/* How many numbers stand behind each name; what follows them is text. */
static const struct {
	const char *name;
	int numbers;
} shapes[] = {
	{"process", 2}, {"real", 2},   {"packets", 1}, {"bytes", 0},    {"map", 6},    {"exec", 2},     {"fork", 5},
	{"end", 4},     {"start", 4},  {"in", 4},      {"out", 4},      {"aux", 7},    {"executes", 2}, {"enabled", 1},
	{"burst", 6},   {"record", 6}, {"raw", 1},     {"aux_head", 2}, {"signal", 0}, {"pause", 1},
};

static void read_line(const char *line, struct words *w)
{
	char *end;
	int used = 0;

	*w = (struct words){.name = ""};
	sscanf(line, "%15s%n", w->name, &used);
	line += used;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (int n = 0; !strcmp(shapes[i].name, w->name) && n < shapes[i].numbers; n++) {
			w->n[n] = strtoull(line, &end, 0);
			line = end;
		}
	line += strspn(line, " ");
	snprintf(w->rest, sizeof(w->rest), "%.*s", (int)strcspn(line, "\n"), line);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* The child is still ours until it executes something. */
static void wait_for_exec(pid_t child)
{
	char path[64];
	struct stat ours, its;

	snprintf(path, sizeof(path), "/proc/%d/exe", child);
	for (int i = 0; child && i < READER_TIME * 5; i++) {
		if (stat("/proc/self/exe", &ours) == 0 && stat(path, &its) == 0 &&
		    (ours.st_ino != its.st_ino || ours.st_dev != its.st_dev))
			break;
		sleep_a_little();
	}
	for (size_t i = 0; i < PMU_EVENTS_MAX; i++)
		if (pmu_events[i].used && pmu_events[i].attr.enable_on_exec)
			__atomic_store_n(&pmu_events[i].enabled, true, __ATOMIC_RELEASE);
}

static void *run(void *unused)
{
	char path[8192], line[7000];
	struct words words;
	FILE *script;

	(void)unused;
	wait_for_exec(play.child);
	play.start = pmu_now();
	snprintf(path, sizeof(path), "%s/script", pmu_folder());
	script = fopen(path, "re");
	while (script && fgets(line, sizeof(line), script)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		read_line(line, &words);
		play_line(&words);
	}
	if (script)
		fclose(script);
	__atomic_store_n(&played, true, __ATOMIC_RELEASE);
	snprintf(path, sizeof(path), "%s/done", pmu_folder());
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	return NULL;
}

void pmu_play(pid_t child)
{
	pthread_t thread;

	if (__atomic_exchange_n(&begun, true, __ATOMIC_ACQ_REL))
		return;
	play.child = child;
	pthread_create(&thread, NULL, run, NULL);
	pthread_detach(thread);
}
