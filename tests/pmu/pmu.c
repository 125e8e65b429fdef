/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces the system calls and files by which ptl-record reaches the kernel's Intel PT. */
#include "tests/pmu/pmu.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define ACTION_OFFSET (offsetof(struct perf_event_attr, aux_sample_size) + sizeof(uint32_t))
#define DEVICE "/sys/bus/event_source/devices/intel_pt"
#define ONLINE "/sys/devices/system/cpu/online"

struct pmu_event pmu_events[PMU_EVENTS_MAX];
pthread_mutex_t pmu_lock = PTHREAD_MUTEX_INITIALIZER;
uint32_t pmu_type;
struct pmu_clock pmu_clock;
static pid_t self;
static char folder[4096];

/* ---- what is used of the next libraries ------------------------------------------------------ */

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

const char *pmu_folder(void)
{
	return folder;
}

void pmu_log(const char *format, ...)
{
	char path[4200], line[1024];
	va_list arguments;
	int fd, size;

	snprintf(path, sizeof(path), "%s/log", folder);
	va_start(arguments, format);
	size = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	fd = NEXT(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd >= 0) {
		(void)!write(fd, line, size < (int)sizeof(line) ? (size_t)size : sizeof(line) - 1);
		NEXT(close)(fd);
	}
}

void pmu_die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "pmu: ");
	vfprintf(stderr, format, arguments);
	fprintf(stderr, "\n");
	va_end(arguments);
	_exit(99);
}

static uint64_t monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t pmu_now(void)
{
	return pmu_clock.zero + (uint64_t)((__uint128_t)__rdtsc() * pmu_clock.mult >> pmu_clock.shift);
}

/* Makes a kernel clock that counts this machine's TSC and has another origin than CLOCK_MONOTONIC. */
static void make_clock(void)
{
	const uint64_t first = monotonic(), count = __rdtsc();
	uint64_t now, ticks;

	do
		now = monotonic();
	while (now - first < 3000000);
	ticks = __rdtsc() - count;
	pmu_clock.shift = 20;
	pmu_clock.mult = (uint32_t)(((now - first) << pmu_clock.shift) / ticks);
	pmu_clock.zero = 0;
	pmu_clock.zero = (1ull << 44) - pmu_now();
}

/* Reads a small file of the folder; "" without the file. */
static void read_small(const char *name, char *text, size_t size)
{
	char path[4200];
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = NEXT(open)(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = NEXT(read)(fd, text, size - 1);
		NEXT(close)(fd);
	}
	text[got > 0 ? got : 0] = 0;
}

static uint64_t number_in(const char *name, int base)
{
	char text[64];

	read_small(name, text, sizeof(text));
	return strtoull(text, NULL, base);
}

__attribute__((constructor)) static void begin(void)
{
	const char *name = getenv("PTL_PMU");

	/* Programs started by ptl-record run without this library. */
	unsetenv("LD_PRELOAD");
	if (!name)
		return;
	snprintf(folder, sizeof(folder), "%s", name);
	self = getpid();
	pmu_type = (uint32_t)number_in("intel_pt/type", 10);
	make_clock();
}

/* Returns whether this is ptl-record's own process, and no child before its exec. */
static bool is_here(void)
{
	return self && getpid() == self;
}

/* A session in the background records in a child process: the first process that opens an Intel PT event. */
static void be_here(bool opens_pt)
{
	static bool taken;

	if (self && !taken)
		self = getpid();
	taken |= opens_pt;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Replacements for the machine's files and folders. */
static const struct {
	const char *path, *name;
	bool if_there;
} shown[] = {
	{DEVICE, "intel_pt", false},
	{ONLINE, "online", true},
	{"/proc/kcore", "kernel/proc/kcore", false},
	{"/proc/kallsyms", "kernel/proc/kallsyms", false},
	{"/sys/kernel/notes", "kernel/sys/kernel/notes", false},
	{"/sys/module/", "kernel/sys/module/", false},
};

static const char *redirect(const char *path, char *to, size_t size)
{
	for (size_t i = 0; self && i < sizeof(shown) / sizeof(shown[0]); i++) {
		const size_t length = strlen(shown[i].path);

		if (strncmp(path, shown[i].path, length) != 0)
			continue;
		snprintf(to, size, "%s/%s%s", folder, shown[i].name, path + length);
		return !shown[i].if_there || NEXT(access)(to, F_OK) == 0 ? to : path;
	}
	return path;
}

int open(const char *path, int flags, ...)
{
	char to[8192];
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	if (is_here())
		pmu_opens(path);
	return NEXT(open)(redirect(path, to, sizeof(to)), flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	char to[8192];

	return NEXT(fopen)(redirect(path, to, sizeof(to)), mode);
}

int access(const char *path, int mode)
{
	char to[8192];

	return NEXT(access)(redirect(path, to, sizeof(to)), mode);
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct pmu_event *find(int fd)
{
	for (size_t i = 0; self && i < PMU_EVENTS_MAX; i++)
		if (pmu_events[i].used && pmu_events[i].fd == fd)
			return &pmu_events[i];
	return NULL;
}

/* Returns whether capabilities permit the bits of config; same check as in the driver. */
static bool is_valid(uint64_t config)
{
	static const struct {
		uint64_t bits;
		const char *cap;
	} needs[] = {
		{1ull << 1, "intel_pt/caps/psb_cyc"},    {0xfull << 19, "intel_pt/caps/psb_cyc"},
		{0xfull << 24, "intel_pt/caps/psb_cyc"}, {1ull << 9, "intel_pt/caps/mtc"},
		{0xfull << 14, "intel_pt/caps/mtc"},     {1ull << 12, "intel_pt/caps/ptwrite"},
		{1ull << 5, "intel_pt/caps/ptwrite"},    {1ull << 4, "intel_pt/caps/power_event_trace"},
	};
	static const struct {
		unsigned shift;
		const char *values;
	} fields[] = {
		{19, "intel_pt/caps/cycle_thresholds"},
		{24, "intel_pt/caps/psb_periods"},
		{14, "intel_pt/caps/mtc_periods"},
	};

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (config & needs[i].bits && !number_in(needs[i].cap, 16))
			return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const uint64_t value = config >> fields[i].shift & 15;

		if (value && !(number_in(fields[i].values, 16) >> value & 1))
			return false;
	}
	return (config & 1) == (config >> 13 & 1) || config & 1;
}

static int refuse(int error)
{
	errno = error;
	return -1;
}

/* Returns perf_event_attr.aux_action, which stands behind aux_sample_size. */
static uint32_t action_of(const struct perf_event_attr *attr)
{
	uint32_t action;

	memcpy(&action, (const uint8_t *)attr + ACTION_OFFSET, sizeof(action));
	return action;
}

/* Opens the member of a group in the kernel, which checks the attributes and counts. Without the action and the group. */
static int open_real(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	struct perf_event_attr real = *attr;

	memset((uint8_t *)&real + ACTION_OFFSET, 0, sizeof(uint32_t));
	return (int)NEXT(syscall)(SYS_perf_event_open, &real, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/*
 * Checks the action as perf_event_alloc and perf_get_aux_event of the kernel do: returns an errno, or 0. leader: NULL
 * without a group.
 */
static int check_action(const struct perf_event_attr *attr, const struct pmu_event *leader, pid_t pid, int cpu)
{
	const uint32_t action = action_of(attr);
	const int without = (int)number_in("no_pause", 10);

	if (!action)
		return 0;
	if (action & ~(PMU_START_PAUSED | PMU_PAUSE | PMU_RESUME))
		return EINVAL;
	if (without)
		return action & PMU_START_PAUSED ? without : EINVAL;
	if (action & PMU_START_PAUSED && attr->type != pmu_type)
		return EOPNOTSUPP;
	if ((action & PMU_PAUSE && action & PMU_RESUME) || (action & (PMU_PAUSE | PMU_RESUME) && !leader))
		return EINVAL;
	if (leader && (leader->attr.type != pmu_type || leader->pid != pid || leader->cpu != cpu))
		return EINVAL;
	return 0;
}

static int open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, struct pmu_event *leader)
{
	const bool is_pt = attr->type == pmu_type && pmu_type;
	const int wanted = (int)number_in("refuse", 10), action_error = check_action(attr, leader, pid, cpu);
	struct pmu_event *event = NULL;
	int real = -1;

	pmu_log("open type=%s config=%#llx pid=%d cpu=%d inherit=%d on_exec=%d user=%d kernel=%d switch=%d "
		"clockid=%d containers=%d\n",
		is_pt ? "intel_pt" : "software", (unsigned long long)attr->config, pid, cpu, (int)attr->inherit,
		(int)attr->enable_on_exec, !attr->exclude_user, !attr->exclude_kernel, (int)attr->context_switch,
		(int)attr->use_clockid, attr->namespaces && attr->cgroup);
	if (action_of(attr))
		pmu_log("action %u of type %u period=%llu kernel=%d\n", action_of(attr), is_pt ? 0 : attr->type,
			(unsigned long long)attr->sample_period, !attr->exclude_kernel);
	if (action_error)
		return refuse(action_error);
	if (is_pt && (wanted || !is_valid(attr->config)))
		return refuse(wanted ? wanted : EINVAL);
	if ((pid == -1 && cpu == -1) || attr->size != sizeof(*attr) || (attr->read_format && number_in("old", 10)))
		return refuse(EINVAL);
	for (size_t i = 0; !event && i < PMU_EVENTS_MAX; i++)
		if (!pmu_events[i].used)
			event = &pmu_events[i];
	if (!event)
		return refuse(EMFILE);
	if (leader && (real = open_real(attr, pid, cpu)) < 0)
		return -1;
	*event = (struct pmu_event){.used = true, .attr = *attr, .pid = pid, .cpu = cpu, .memory = -1, .real = real};
	event->enabled = !attr->disabled;
	event->action = action_of(attr);
	event->paused = (event->action & PMU_START_PAUSED) != 0;
	event->leader = leader;
	event->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return event->fd;
}

/*
 * Returns whether the event is simulated: Intel PT, the members of its group, its sideband and the clock. The kernel provides tracepoints and
 * counters.
 */
static bool is_ours(const struct perf_event_attr *attr)
{
	return attr->type == pmu_type || action_of(attr) ||
	       (attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY &&
		(!attr->sample_type || attr->context_switch || attr->mmap || attr->comm || attr->task ||
		 attr->text_poke));
}

long syscall(long number, ...)
{
	long words[6];
	va_list arguments;
	long result;

	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(arguments, long);
	va_end(arguments);
	/* The kernel handles other events, such as uprobes. */
	if (number == SYS_perf_event_open && is_ours((const struct perf_event_attr *)words[0]))
		be_here(((const struct perf_event_attr *)words[0])->type == pmu_type);
	if (number != SYS_perf_event_open || !is_here() || !is_ours((const struct perf_event_attr *)words[0]))
		return NEXT(syscall)(number, words[0], words[1], words[2], words[3], words[4], words[5]);
	pthread_mutex_lock(&pmu_lock);
	result = open_event((const struct perf_event_attr *)words[0], (pid_t)words[1], (int)words[2],
			    (int)words[3] < 0 ? NULL : find((int)words[3]));
	pthread_mutex_unlock(&pmu_lock);
	if (result >= 0 && (pid_t)words[1] > 0 && ((const struct perf_event_attr *)words[0])->enable_on_exec)
		pmu_play((pid_t)words[1]);
	return result;
}

/* read(2) under another name, as the C headers may redefine read. */
ssize_t read_event(int fd, void *buffer, size_t size) __asm__("read");

/* Returns the count of lost records if requested. */
ssize_t read_event(int fd, void *buffer, size_t size)
{
	struct pmu_event *event;
	ssize_t result = -1;

	if (!is_here())
		return NEXT(read)(fd, buffer, size);
	pthread_mutex_lock(&pmu_lock);
	event = find(fd);
	if (event && event->attr.read_format == PERF_FORMAT_LOST && size >= 16) {
		const uint64_t counts[2] = {0, __atomic_load_n(&event->lost, __ATOMIC_ACQUIRE)};

		memcpy(buffer, counts, sizeof(counts));
		result = sizeof(counts);
	}
	pthread_mutex_unlock(&pmu_lock);
	return result > 0 ? result : NEXT(read)(fd, buffer, size);
}

int close(int fd)
{
	struct pmu_event *event;

	if (is_here()) {
		pthread_mutex_lock(&pmu_lock);
		event = find(fd);
		/* Mapped rings stay: the player may be using them. */
		if (event && event->leader)
			NEXT(close)(event->real);
		if (event)
			event->used = false;
		pthread_mutex_unlock(&pmu_lock);
	}
	return NEXT(close)(fd);
}

/* ---- rings ----------------------------------------------------------------------------------- */

static bool is_power_of_two(size_t size)
{
	return size && !(size & (size - 1));
}

/* Returns whether all events may lock `more` bytes; $PTL_PMU/mlock limits the sum, in bytes. */
static bool is_permitted(size_t more)
{
	const uint64_t limit = number_in("mlock", 10);
	size_t sum = more;

	for (size_t i = 0; i < PMU_EVENTS_MAX; i++)
		if (pmu_events[i].used && pmu_events[i].memory >= 0)
			sum += pmu_events[i].data_size + pmu_events[i].aux_size;
	return !limit || sum <= limit;
}

static void *map_data(struct pmu_event *event, size_t size, int protection)
{
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *page;

	/* The rings were unmapped without an AUX area, and are mapped again. */
	if (event->memory >= 0 && !event->aux) {
		NEXT(close)(event->memory);
		event->memory = -1;
	}
	if (size < page_size || (size > page_size && !is_power_of_two(size - page_size)) || event->memory >= 0 ||
	    (event->attr.inherit && event->cpu == -1)) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	if (!is_permitted(size - page_size)) {
		errno = EPERM;
		return MAP_FAILED;
	}
	event->memory = memfd_create("pmu", MFD_CLOEXEC);
	if (event->memory < 0 || ftruncate(event->memory, (off_t)size) < 0)
		return MAP_FAILED;
	event->data_size = size - page_size;
	event->page = NEXT(mmap)(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, event->memory, 0);
	page = (struct perf_event_mmap_page *)(void *)event->page;
	page->cap_user_time = page->cap_user_time_zero = 1;
	page->time_mult = pmu_clock.mult;
	page->time_shift = pmu_clock.shift;
	page->time_zero = pmu_clock.zero;
	page->data_offset = page_size;
	page->data_size = event->data_size;
	return NEXT(mmap)(NULL, size, protection, MAP_SHARED, event->memory, 0);
}

static void *map_aux(struct pmu_event *event, size_t size, int protection, off_t offset)
{
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	const struct perf_event_mmap_page *page = (const struct perf_event_mmap_page *)(void *)event->page;

	errno = EINVAL;
	if (event->attr.type != pmu_type || event->memory < 0 || event->aux || !is_power_of_two(size) ||
	    page->aux_offset != (uint64_t)offset || page->aux_size != size ||
	    page->aux_offset < page_size + event->data_size)
		return MAP_FAILED;
	if (!is_permitted(size)) {
		errno = EPERM;
		return MAP_FAILED;
	}
	if (ftruncate(event->memory, offset + (off_t)size) < 0)
		return MAP_FAILED;
	event->aux_size = size;
	event->overwrites = !(protection & PROT_WRITE);
	event->aux = NEXT(mmap)(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, event->memory, offset);
	pmu_log("aux cpu=%d size=%zu overwrite=%d\n", event->cpu, size, (int)event->overwrites);
	return NEXT(mmap)(NULL, size, protection, MAP_SHARED, event->memory, offset);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	struct pmu_event *event;
	void *result;

	if (fd < 0 || !is_here() || !(event = find(fd)))
		return NEXT(mmap)(address, size, protection, flags, fd, offset);
	pthread_mutex_lock(&pmu_lock);
	result = offset ? map_aux(event, size, protection, offset) : map_data(event, size, protection);
	pthread_mutex_unlock(&pmu_lock);
	return result;
}

/* ---- control --------------------------------------------------------------------------------- */

uint64_t pmu_id(const struct pmu_event *event)
{
	return PMU_FIRST_ID + (uint64_t)(event - pmu_events);
}

uint64_t pmu_count(uint32_t action)
{
	uint64_t sum = 0, value[2];

	for (size_t i = 0; i < PMU_EVENTS_MAX; i++)
		if (pmu_events[i].used && pmu_events[i].leader && pmu_events[i].action == action &&
		    NEXT(read)(pmu_events[i].real, value, sizeof(value)) > 0)
			sum += value[0];
	return sum;
}

static int set_output(struct pmu_event *event, int fd)
{
	struct pmu_event *to = find(fd);

	if (!to || to->cpu != event->cpu || (to->cpu == -1 && to->pid != event->pid) ||
	    to->attr.use_clockid != event->attr.use_clockid || event->memory >= 0)
		return refuse(EINVAL);
	event->output = to;
	return 0;
}

/* Sets a filter in the driver's form "filter 0x10/0x20@/path". */
static int set_filter(const char *text)
{
	unsigned long long first, size;
	char action[16], path[4096];

	pmu_log("filter %s\n", text);
	for (const char *at = text; *at; at += strcspn(at, ","), at += *at == ',') {
		if (sscanf(at, "%15s 0x%llx/0x%llx@%4095[^,]", action, &first, &size, path) != 4 || path[0] != '/')
			return refuse(EINVAL);
		if (!size || !strcmp(action, "start"))
			return refuse(EOPNOTSUPP);
	}
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct pmu_event *event = is_here() ? find(fd) : NULL;
	va_list arguments;
	void *argument;
	int result = 0;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (!event)
		return NEXT(ioctl)(fd, request, argument);
	pthread_mutex_lock(&pmu_lock);
	if (request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE) {
		event->enabled = request == PERF_EVENT_IOC_ENABLE;
		event->starts += event->enabled;
		if (event->attr.type == pmu_type)
			pmu_log("%s cpu=%d pid=%d\n", event->enabled ? "enable" : "disable", event->cpu, event->pid);
	} else if (request == PERF_EVENT_IOC_SET_OUTPUT) {
		result = set_output(event, (int)(intptr_t)argument);
	} else if (request == PERF_EVENT_IOC_SET_FILTER) {
		result = event->leader ? NEXT(ioctl)(event->real, request, argument) : set_filter(argument);
	} else if (request == PERF_EVENT_IOC_ID) {
		const uint64_t id = pmu_id(event);

		memcpy(argument, &id, sizeof(id));
	} else {
		result = refuse(ENOTTY);
	}
	pthread_mutex_unlock(&pmu_lock);
	if (event->attr.type == pmu_type && request == PERF_EVENT_IOC_ENABLE)
		pmu_play(0);
	return result;
}
