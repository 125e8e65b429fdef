/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks the kernel's permissions for the user: settings, capabilities, limits. */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/text.h"
#include "record/check/machine.h"

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define PTRACE_SCOPE "/proc/sys/kernel/yama/ptrace_scope"
#define STATUS_MAX 8192
#define KB 1024ull
#define BUFFER_WANTED (4096 * KB) /* of packets, per processor */

/* Numbers of linux/capability.h; older headers lack some. */
enum { IPC_LOCK = 14, SYS_PTRACE = 19, SYS_ADMIN = 21, PERFMON = 38 };

static const char group[] = "Permissions";

/* Rights of the user, and the relevant setting. */
struct rights {
	bool has_capabilities; /* /proc/self/status was readable */
	bool perfmon;          /* CAP_PERFMON, or CAP_SYS_ADMIN, which includes CAP_PERFMON */
	bool ipc_lock;         /* CAP_IPC_LOCK */
	bool ptrace;           /* CAP_SYS_PTRACE */
	bool has_paranoid;
	long long paranoid;
};

/* Returns the text behind a key at the beginning of a line; NULL without such a line. */
static const char *find_line(const char *text, const char *key)
{
	const size_t length = strlen(key);

	while (strncmp(text, key, length) != 0) {
		text = strchr(text, '\n');
		if (!text)
			return NULL;
		text++;
	}
	return text + length + strspn(text + length, " \t");
}

static void read_rights(const struct check_list *list, struct rights *rights)
{
	char text[STATUS_MAX];
	const char *bits = NULL;
	unsigned long long set;

	*rights = (struct rights){0};
	if (check_read(list, "/proc/self/status", text, sizeof(text)))
		bits = find_line(text, "CapEff:");
	if (bits) {
		set = strtoull(bits, NULL, 16);
		rights->has_capabilities = true;
		rights->perfmon = (set >> PERFMON & 1) || (set >> SYS_ADMIN & 1);
		rights->ipc_lock = set >> IPC_LOCK & 1;
		rights->ptrace = set >> SYS_PTRACE & 1;
	}
	rights->has_paranoid = check_read_number(list, PARANOID, 10, &rights->paranoid);
}

static void check_capabilities(struct check_list *list, const struct rights *rights)
{
	struct check_item item = {.group = group, .name = "CAP_PERFMON"};

	item.state = rights->perfmon ? CHECK_YES : rights->has_capabilities ? CHECK_NO : CHECK_UNKNOWN;
	if (item.state == CHECK_NO) {
		item.why = "what is permitted is what perf_event_paranoid says";
		item.remedy = "sudo setcap cap_perfmon,cap_ipc_lock+ep \"$(command -v ptl-record)\", or run as root";
	}
	check_list_add(list, &item);
}

/* Highest values of perf_event_paranoid that give permissions to users without CAP_PERFMON. */
static const struct {
	const char *name;
	long long most;
	const char *remedy;
} levels[] = {
	{"own processes", 2, "sudo sysctl kernel.perf_event_paranoid=2"},
	{"kernel code", 1, "sudo sysctl kernel.perf_event_paranoid=1"},
	{"whole machine", 0, "sudo sysctl kernel.perf_event_paranoid=0"},
};

static void check_level(struct check_list *list, const struct rights *rights, size_t i)
{
	struct check_item item = {.group = group, .name = levels[i].name, .state = CHECK_YES};
	char value[64];

	snprintf(value, sizeof(value), "perf_event_paranoid is %lld", rights->paranoid);
	if (!rights->has_paranoid) {
		item.state = CHECK_NO;
		item.why = "this kernel has no perf events: " PARANOID " is not there";
		item.remedy = "a kernel with CONFIG_PERF_EVENTS";
	} else if (!rights->perfmon) {
		item.state = rights->paranoid <= levels[i].most ? CHECK_YES : CHECK_NO;
		item.value = value;
		item.remedy = item.state == CHECK_NO ? levels[i].remedy : NULL;
	}
	check_list_add(list, &item);
}

/* Checks --pid of the software source. Without Yama, users may trace their own processes. */
static void check_attaching(struct check_list *list, const struct rights *rights)
{
	struct check_item item = {.group = group, .name = "attaching (--pid)", .state = CHECK_YES};
	char value[64];
	long long scope = 0;

	if (check_read_number(list, PTRACE_SCOPE, 10, &scope) && scope > 0) {
		snprintf(value, sizeof(value), "yama/ptrace_scope is %lld", scope);
		item.value = value;
		item.state = rights->ptrace && scope < 3 ? CHECK_YES : scope == 1 ? CHECK_PARTLY : CHECK_NO;
	}
	if (item.state != CHECK_YES) {
		item.why = scope == 1 ? "a user may trace processes that ptl-record has started, and no others"
				      : "users may not trace processes";
		item.remedy = scope == 3 ? "boot without kernel.yama.ptrace_scope=3"
					 : "sudo sysctl kernel.yama.ptrace_scope=0, or run as root";
	}
	check_list_add(list, &item);
}

/* Reads "none [integrity] confidentiality", with the current lockdown in brackets. */
static void check_lockdown(struct check_list *list)
{
	struct check_item item = {.group = group, .name = "no lockdown", .state = CHECK_YES};
	char text[128];

	/* Without securityfs or lockdown support, there is no lockdown. */
	if (!check_read(list, "/sys/kernel/security/lockdown", text, sizeof(text)) || strstr(text, "[none]"))
		item.value = NULL;
	else
		item.value = text;
	if (item.value && strstr(text, "[confidentiality]")) {
		item.state = CHECK_NO;
		item.why = "the kernel keeps its memory, and its code, from everybody";
		item.remedy = "boot without lockdown=confidentiality";
	}
	check_list_add(list, &item);
}

/* Reads the soft limit of locked memory in bytes; ULLONG_MAX: unlimited. */
static bool read_memlock(const struct check_list *list, unsigned long long *limit)
{
	char text[STATUS_MAX], *end;
	const char *value = NULL;

	if (check_read(list, "/proc/self/limits", text, sizeof(text)))
		value = find_line(text, "Max locked memory");
	if (!value)
		return false;
	*limit = strncmp(value, "unlimited", strlen("unlimited")) ? strtoull(value, &end, 10) : ULLONG_MAX;
	return *limit == ULLONG_MAX || end != value;
}

/* Returns the number of processors in "0-3,8". */
static unsigned count_processors(const char *text)
{
	unsigned count = 0;

	while (*text >= '0' && *text <= '9') {
		char *end;
		const unsigned long first = strtoul(text, &end, 10);
		const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

		if (last < first || last - first > 65535)
			return 0;
		count += (unsigned)(last - first) + 1;
		text = *end == ',' ? end + 1 : end;
		if (count > 65536)
			return 0;
	}
	return *text ? 0 : count;
}

/*
 * Computes how many bytes a user may lock per processor by perf_event_open(2); ULLONG_MAX: unlimited. Returns false if
 * unknown.
 */
static bool read_buffer_limit(const struct check_list *list, const struct rights *rights, unsigned long long *each)
{
	unsigned long long limit;
	unsigned processors;
	char online[256];
	long long kb;

	*each = ULLONG_MAX;
	if (rights->ipc_lock || (rights->has_paranoid && rights->paranoid < 0))
		return true;
	if (!check_read(list, "/sys/devices/system/cpu/online", online, sizeof(online)) ||
	    !read_memlock(list, &limit) || !check_read_number(list, "/proc/sys/kernel/perf_event_mlock_kb", 10, &kb) ||
	    kb < 0 || kb > INT_MAX)
		return false;
	processors = count_processors(online);
	if (processors && limit != ULLONG_MAX)
		*each = (unsigned long long)kb * KB + limit / processors;
	return processors != 0;
}

static void check_memory(struct check_list *list, const struct rights *rights)
{
	struct check_item item = {.group = group, .name = "memory for buffers", .state = CHECK_YES};
	struct ptl_bytes text = {0};
	unsigned long long each;

	if (!read_buffer_limit(list, rights, &each)) {
		item.state = CHECK_UNKNOWN;
	} else if (each == ULLONG_MAX) {
		common_text_add(&text, "not limited");
	} else {
		common_text_size(&text, each);
		common_text_add(&text, " for each processor");
	}
	if (item.state == CHECK_YES && each < BUFFER_WANTED) {
		item.state = CHECK_PARTLY;
		item.why = "what is not taken at once is lost";
		item.remedy = "sudo sysctl kernel.perf_event_mlock_kb=8192, or CAP_IPC_LOCK";
	}
	item.value = text.size ? common_text_string(&text) : NULL;
	check_list_add(list, &item);
	common_bytes_free(&text);
}

/* Checks whether a line of /proc/kallsyms has an address. Users without permission see only zeros. */
static bool has_address(const char *text)
{
	while (*text) {
		if (isxdigit((unsigned char)text[strspn(text, "0")]))
			return true;
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return false;
}

/* As kallsyms_show_value of the kernel. */
static const char *symbols_remedy(const struct check_list *list)
{
	long long restricted;

	if (!check_read_number(list, "/proc/sys/kernel/kptr_restrict", 10, &restricted) || restricted == 1)
		return "run as root";
	return restricted ? "sudo sysctl kernel.kptr_restrict=1, and run as root"
			  : "sudo sysctl kernel.perf_event_paranoid=1, or run as root";
}

static void check_symbols(struct check_list *list)
{
	struct check_item item = {.group = group, .name = "kernel symbols", .state = CHECK_YES};
	char text[STATUS_MAX];

	if (!check_read(list, "/proc/kallsyms", text, sizeof(text))) {
		item.state = CHECK_NO;
		item.why = "/proc/kallsyms is not there";
		item.remedy = "a kernel with CONFIG_KALLSYMS";
	} else if (!has_address(text)) {
		item.state = CHECK_NO;
		item.why = "/proc/kallsyms shows this user no addresses";
		item.remedy = symbols_remedy(list);
	}
	check_list_add(list, &item);
}

/* Checks access to the actual code of the kernel and its modules. */
static void check_core(struct check_list *list)
{
	struct check_item item = {.group = group, .name = "kernel memory", .state = CHECK_YES};
	char magic[5];

	if (!check_exists(list, "/proc/kcore")) {
		item.state = CHECK_NO;
		item.why = "/proc/kcore is not there; of the kernel itself, a vmlinux of the same build id serves";
		item.remedy = "a kernel with CONFIG_PROC_KCORE";
	} else if (!check_read(list, "/proc/kcore", magic, sizeof(magic)) || strncmp(magic, "\177ELF", 4) != 0) {
		item.state = CHECK_NO;
		item.why = "/proc/kcore may not be read; of the kernel itself, a vmlinux of the same build id serves";
		item.remedy = "run as root";
	}
	check_list_add(list, &item);
}

static void check_tracing(struct check_list *list)
{
	struct check_item item = {.group = group, .name = "tracepoints", .state = CHECK_YES};
	char mounts[STATUS_MAX];

	if (check_exists(list, "/sys/kernel/tracing/events") ||
	    check_exists(list, "/sys/kernel/debug/tracing/events")) {
		check_list_add(list, &item);
		return;
	}
	item.state = CHECK_NO;
	if (check_read(list, "/proc/self/mounts", mounts, sizeof(mounts)) &&
	    strstr(mounts, " /sys/kernel/tracing tracefs ")) {
		item.why = "this user may not look into tracefs";
		item.remedy = "sudo mount -o remount,mode=755 /sys/kernel/tracing, or run as root";
	} else {
		item.why = "there is no tracefs";
		item.remedy = "sudo mount -t tracefs tracefs /sys/kernel/tracing";
	}
	check_list_add(list, &item);
}

void check_permissions(struct check_list *list)
{
	struct rights rights;

	read_rights(list, &rights);
	check_capabilities(list, &rights);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		check_level(list, &rights, i);
	check_attaching(list, &rights);
	check_lockdown(list);
	check_memory(list, &rights);
	check_symbols(list);
	check_core(list);
	check_tracing(list);
}
