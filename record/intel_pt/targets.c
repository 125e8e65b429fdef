/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the recorded CPUs and threads. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "record/intel_pt/intel_pt_state.h"
#include "record/proc/proc_files.h"

#define ONLINE "/sys/devices/system/cpu/online"
#define CPUS_MAX 65536u
#define THREADS_MAX 65536u
#define ROUNDS_MAX 64 /* looks for threads of threads */

/* ---- CPUs ------------------------------------------------------------------------------------ */

/* Set of the added CPUs. */
struct cpu_set {
	uint8_t bits[CPUS_MAX / 8];
};

static int add_cpu(struct intel_pt *pt, struct cpu_set *added, uint32_t cpu)
{
	const uint8_t bit = (uint8_t)(1u << cpu % 8);

	if (added->bits[cpu / 8] & bit)
		return 0;
	if (COMMON_VECTOR_RESERVE(pt->cpus, pt->cpu_capacity, pt->cpu_count + 1, "CPUs"))
		return PTL_NO_MEMORY;
	added->bits[cpu / 8] |= bit;
	pt->cpus[pt->cpu_count++] = cpu;
	return 0;
}

/* Parses "0" or "2-5", and moves *text behind the range. */
static bool read_range(const char **text, unsigned long *first, unsigned long *last)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	*first = *last = strtoul(*text, &end, 10);
	if (*end == '-' && end[1] >= '0' && end[1] <= '9')
		*last = strtoul(end + 1, &end, 10);
	*text = end;
	return *first <= *last && *last < CPUS_MAX;
}

static int add_cpus(struct intel_pt *pt, const char *list)
{
	const char *text = list;
	struct cpu_set added = {0};
	unsigned long first, last;
	int status = 0;

	for (;;) {
		if (!read_range(&text, &first, &last))
			return common_fail(PTL_MISUSE, "\"%s\": a list of CPUs was expected, such as 0,2-3, or all",
					   list);
		for (unsigned long cpu = first; status == 0 && cpu <= last; cpu++)
			status = add_cpu(pt, &added, (uint32_t)cpu);
		if (status < 0 || !*text || *text == '\n')
			return status;
		if (*text++ != ',')
			return common_fail(PTL_MISUSE, "\"%s\": CPUs are parted by commas", list);
	}
}

static int add_online(struct intel_pt *pt)
{
	char online[4096];
	FILE *file;
	bool read;

	file = fopen(ONLINE, "re");
	if (!file)
		return common_fail_errno("%s", ONLINE);
	read = fgets(online, sizeof(online), file) != NULL;
	fclose(file);
	return read ? add_cpus(pt, online) : common_fail(PTL_SYSTEM, "%s says nothing", ONLINE);
}

/* Reads the CPUs that the process may use. Returns false if unknown; then every CPU counts. */
static bool read_affinity(pid_t pid, cpu_set_t *set)
{
	return sched_getaffinity(pid, CPU_ALLOC_SIZE(CPUS_MAX), set) == 0;
}

/* Keeps the first CPUs on which the command may run. */
static int keep_cpus(struct intel_pt *pt, uint32_t most, bool for_command)
{
	const size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	size_t left = 0;
	bool limited;

	if (!set)
		return common_fail_memory("CPUs", size);
	limited = for_command && read_affinity(0, set);
	for (size_t i = 0; i < pt->cpu_count && left < most; i++)
		if (!limited || CPU_ISSET_S(pt->cpus[i], size, set))
			pt->cpus[left++] = pt->cpus[i];
	CPU_FREE(set);
	pt->cpu_count = left;
	return left ? 0 : common_fail(PTL_SYSTEM, "there is no CPU on which the command may run");
}

int intel_pt_targets_cpus(struct intel_pt *pt, const struct record_pt_settings *settings)
{
	const bool listed = settings->cpus && strcmp(settings->cpus, "all") != 0;
	int status = listed ? add_cpus(pt, settings->cpus) : add_online(pt);

	return status < 0 || !settings->max_cpus ? status : keep_cpus(pt, settings->max_cpus, !settings->cpus);
}

int intel_pt_targets_bind(const struct intel_pt *pt, pid_t pid)
{
	const size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	int status;

	if (!set)
		return common_fail_memory("CPUs", size);
	CPU_ZERO_S(size, set);
	for (size_t i = 0; i < pt->cpu_count; i++)
		CPU_SET_S(pt->cpus[i], size, set);
	status = sched_setaffinity(pid, size, set) < 0
			 ? common_fail_errno("the command cannot be bound to %zu CPUs", pt->cpu_count)
			 : 0;
	CPU_FREE(set);
	return status;
}

/* ---- threads --------------------------------------------------------------------------------- */

static int add_target(struct intel_pt *pt, pid_t tid, bool *is_new)
{
	for (size_t i = 0; i < pt->target_count; i++)
		if (pt->targets[i] == tid)
			return 0;
	if (pt->target_count == THREADS_MAX)
		return common_fail(PTL_UNSUPPORTED, "more than %u threads", THREADS_MAX);
	if (COMMON_VECTOR_RESERVE(pt->targets, pt->target_capacity, pt->target_count + 1, "threads"))
		return PTL_NO_MEMORY;
	pt->targets[pt->target_count++] = tid;
	*is_new = true;
	return 0;
}

static int look_at_threads(struct intel_pt *pt, uint32_t pid, bool *is_new)
{
	char path[64];
	struct dirent *entry;
	DIR *folder;
	int status = 0;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	folder = opendir(path);
	if (!folder && errno == ENOENT)
		return common_fail(PTL_SYSTEM, "there is no process %u", pid);
	if (!folder)
		return common_fail_errno("%s", path);
	while (status == 0 && (entry = readdir(folder))) {
		const unsigned long tid = strtoul(entry->d_name, NULL, 10);

		if (tid && tid <= INT32_MAX)
			status = add_target(pt, (pid_t)tid, is_new);
	}
	closedir(folder);
	return status;
}

/* Repeats until no new thread appears: later threads inherit the events of their parents. */
int intel_pt_targets_add_process(struct intel_pt *pt, uint32_t pid)
{
	bool is_new = true;
	int status = common_id_set_add(&pt->pids, pid);

	for (unsigned i = 0; status == 0 && is_new && i < ROUNDS_MAX; i++) {
		is_new = false;
		status = look_at_threads(pt, pid, &is_new);
	}
	return status;
}

int intel_pt_targets_threads(struct intel_pt *pt, const struct record_pt_settings *settings)
{
	int status = 0;
	bool is_new;

	for (size_t i = 0; status == 0 && i < settings->pids.count; i++)
		status = intel_pt_targets_add_process(pt, settings->pids.ids[i]);
	for (size_t i = 0; status == 0 && i < settings->tids.count; i++)
		status = settings->tids.ids[i] <= INT32_MAX
				 ? add_target(pt, (pid_t)settings->tids.ids[i], &is_new)
				 : common_fail(PTL_MISUSE, "there is no thread %u", settings->tids.ids[i]);
	return status;
}

bool intel_pt_targets_has(const struct intel_pt *pt, pid_t thread)
{
	for (size_t i = 0; i < pt->target_count; i++)
		if (pt->targets[i] == thread)
			return true;
	return false;
}

int intel_pt_targets_look(struct intel_pt *pt)
{
	size_t left = 0;
	bool is_new;
	int status = 0;

	for (size_t i = 0; status == 0 && i < pt->pids.count; i++) {
		const uint32_t pid = pt->pids.ids[i];

		status = look_at_threads(pt, pid, &is_new);
		if (status == 0)
			pt->pids.ids[left++] = pid;
		/* The process has ended. */
		if (status == PTL_SYSTEM)
			status = 0;
	}
	if (status == 0)
		pt->pids.count = left;
	return status;
}

bool intel_pt_targets_live(const struct intel_pt *pt)
{
	struct record_proc_stat stat;

	for (size_t i = 0; i < pt->target_count; i++)
		if (pt->targets[i] <= 0 || (record_proc_stat((uint32_t)pt->targets[i], &stat) && stat.state != 'Z'))
			return true;
	return false;
}
