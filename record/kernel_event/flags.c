/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of EnableFlags (evntrace.h) and of xperf's groups of flags. */
#include "record/kernel_event/flags.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/program/options.h"
#include "record/kernel_event/event.h"
#include "record/kernel_event/tracefs.h"

#define TRACEPOINTS_MAX 12
#define OPTIONAL '?' /* before a tracepoint that older kernels lack */

static const struct flag {
	const char *name;
	uint32_t value;
	const char *tracepoints[TRACEPOINTS_MAX + 1]; /* ends with NULL */
	const char *reason;                           /* reason why the flag cannot be recorded, or NULL */
	const char *always;                           /* why the flag needs no tracepoint, or NULL */
} flags[] = {
	{"process", 0x1, {"sched:sched_process_fork", "sched:sched_process_exec", "sched:sched_process_exit"}, NULL},
	{"thread", 0x2, {"task:task_newtask", "sched:sched_process_exit"}, NULL},
	{"image-load", 0x4, .always = "code that is mapped is recorded with processes, always"},
	{"process-counters", 0x8, {NULL}, "the kernel does not report them"},
	{"cswitch", 0x10, {"sched:sched_switch"}, NULL},
	{"dpc", 0x20, {"irq:softirq_entry", "irq:softirq_exit"}, NULL},
	{"interrupt", 0x40, {"irq:irq_handler_entry", "irq:irq_handler_exit"}, NULL},
	{"syscall", 0x80, {"raw_syscalls:sys_enter", "raw_syscalls:sys_exit"}, NULL},
	{"disk-io", 0x100, {"block:block_rq_complete"}, NULL},
	{"disk-file-io", 0x200, {NULL}, "requests do not say which file they are of"},
	{"disk-io-init", 0x400, {"block:block_rq_insert", "block:block_rq_issue"}, NULL},
	{"dispatcher", 0x800, {"sched:sched_wakeup", "sched:sched_wakeup_new"}, NULL},
	{"page-fault", 0x1000, {"exceptions:page_fault_user", "exceptions:page_fault_kernel"}, NULL},
	{"hard-fault", 0x2000, {"filemap:mm_filemap_add_to_page_cache"}, NULL},
	{"virtual-alloc",
	 0x4000,
	 {"syscalls:sys_enter_mmap", "syscalls:sys_enter_munmap", "syscalls:sys_enter_brk"},
	 NULL},
	{"vamap", 0x8000, {"syscalls:sys_enter_mmap", "syscalls:sys_enter_munmap"}, NULL},
	{"net-tcpip",
	 0x10000,
	 {"sock:inet_sock_set_state", "net:net_dev_queue", "net:netif_receive_skb", "tcp:tcp_retransmit_skb",
	  "?sock:sock_send_length", "?sock:sock_recv_length"},
	 NULL},
	{"registry", 0x20000, {NULL}, "Linux has no registry"},
	{"debug-print", 0x40000, {"printk:console"}, NULL},
	{"job", 0x80000, {"cgroup:cgroup_attach_task", "cgroup:cgroup_mkdir", "cgroup:cgroup_rmdir"}, NULL},
	{"alpc", 0x100000, {NULL}, "Linux has no ALPC"},
	{"split-io", 0x200000, {"block:block_split"}, NULL},
	{"driver", 0x800000, {"workqueue:workqueue_execute_start", "workqueue:workqueue_execute_end"}, NULL},
	{"profile", 0x1000000, {"cpu-clock"}, NULL},
	{"file-io",
	 0x2000000,
	 {"syscalls:sys_exit_openat", "syscalls:sys_exit_read", "syscalls:sys_exit_write", "syscalls:sys_exit_close",
	  "syscalls:sys_exit_pread64", "syscalls:sys_exit_pwrite64", "syscalls:sys_exit_readv",
	  "syscalls:sys_exit_writev", "syscalls:sys_exit_fsync", "syscalls:sys_exit_fdatasync"},
	 NULL},
	{"file-io-init",
	 0x4000000,
	 {"syscalls:sys_enter_openat", "syscalls:sys_enter_read", "syscalls:sys_enter_write",
	  "syscalls:sys_enter_close", "syscalls:sys_enter_pread64", "syscalls:sys_enter_pwrite64",
	  "syscalls:sys_enter_readv", "syscalls:sys_enter_writev", "syscalls:sys_enter_fsync",
	  "syscalls:sys_enter_fdatasync"},
	 NULL},
};

#define COUNT (sizeof(flags) / sizeof(flags[0]))

#define PROC_THREAD_LOADER (0x1u | 0x2u | 0x4u)
#define DISK_IO_HARD_FAULTS (0x100u | 0x2000u)
#define DPC_INTERRUPT_CSWITCH (0x20u | 0x40u | 0x10u)
#define PROFILE 0x1000000u

/* Names of xperf: groups of flags (xperf -providers KG), and flags that have another name in evntrace.h. */
static const struct group {
	const char *name;
	uint32_t values;
	const char *missing; /* xperf's flags of the group that have no counterpart on Linux, or NULL */
} groups[] = {
	{"base", PROC_THREAD_LOADER | DISK_IO_HARD_FAULTS | PROFILE, "MEMINFO+MEMINFO_WS"},
	{"diag", PROC_THREAD_LOADER | DISK_IO_HARD_FAULTS | DPC_INTERRUPT_CSWITCH, "PERF_COUNTER+COMPACT_CSWITCH"},
	{"diageasy", PROC_THREAD_LOADER | DISK_IO_HARD_FAULTS | DPC_INTERRUPT_CSWITCH, "PERF_COUNTER"},
	{"latency", PROC_THREAD_LOADER | DISK_IO_HARD_FAULTS | DPC_INTERRUPT_CSWITCH | PROFILE, NULL},
	{"fileio", PROC_THREAD_LOADER | DISK_IO_HARD_FAULTS | 0x2000000 | 0x4000000, NULL},
	{"iotrace", PROC_THREAD_LOADER | DISK_IO_HARD_FAULTS | 0x10, NULL},
	{"sysprof", PROC_THREAD_LOADER | PROFILE, NULL},
	{"network", PROC_THREAD_LOADER | 0x10000, NULL},
	{"proc-thread", 0x1 | 0x2, NULL},
	{"loader", 0x4, NULL},
	{"hard-faults", 0x2000, NULL},
	{"all-faults", 0x1000, NULL},
	{"virt-alloc", 0x4000, NULL},
	{"networktrace", 0x10000, NULL},
	{"drivers", 0x800000, NULL},
};

#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static bool has_flag(const struct common_string_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->list[i], text))
			return true;
	return false;
}

static const char *plain_name(const char *tracepoint)
{
	return tracepoint + (*tracepoint == OPTIONAL);
}

/* Whether the tracepoint is recorded: the kernel has it, or its absence is an error. */
static bool is_recorded(const char *tracepoint)
{
	uint8_t *text;
	size_t size;
	int status = 0;

	if (*tracepoint == OPTIONAL) {
		status = record_tracefs_format(plain_name(tracepoint), &text, &size);
		if (status == 0)
			free(text);
	}
	return status != PTL_NOT_FOUND;
}

static int add_flag(const struct flag *flag, uint32_t *values)
{
	if (flag->reason)
		return common_fail(PTL_MISUSE, "nothing here is what %s stands for: %s", flag->name, flag->reason);
	*values |= flag->value;
	return 0;
}

static int add_number(uint64_t number, uint32_t *values)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < COUNT; i++) {
		if (number & flags[i].value)
			status = add_flag(&flags[i], values);
		number &= ~(uint64_t)flags[i].value;
	}
	return status == 0 && number ? common_fail(PTL_MISUSE, "0x%llx is no flag; --list-flags shows all",
						   (unsigned long long)number)
				     : status;
}

/* Compares without case; xperf writes an underscore where PTL writes a dash. */
static bool is_named(const char *name, const char *word, size_t size)
{
	size_t i = 0;

	while (i < size && name[i] && tolower((unsigned char)(word[i] == '_' ? '-' : word[i])) == name[i])
		i++;
	return i == size && !name[i];
}

static int add_word(const char *word, size_t size, uint32_t *values)
{
	char text[32];
	uint64_t number;

	for (size_t i = 0; i < COUNT; i++)
		if (is_named(flags[i].name, word, size))
			return add_flag(&flags[i], values);
	for (size_t i = 0; i < GROUPS; i++)
		if (is_named(groups[i].name, word, size)) {
			*values |= groups[i].values;
			return 0;
		}
	snprintf(text, sizeof(text), "%.*s", size < sizeof(text) ? (int)size : 0, word);
	if (*text && common_parse_u64(text, &number) == 0)
		return add_number(number, values);
	return common_fail(PTL_MISUSE, "'%.*s' is no flag; --list-flags shows all", (int)size, word);
}

int record_flags_parse(const char *text, uint32_t *values)
{
	int status;

	do {
		const size_t size = strcspn(text, ",+");

		status = add_word(text, size, values);
		text += size + (text[size] != 0);
	} while (status == 0 && *text);
	return status;
}

int record_flags_tracepoints(uint32_t values, struct common_string_list *tracepoints)
{
	int status = 0;

	for (size_t i = 0; i < COUNT; i++)
		for (size_t n = 0; status == 0 && n < TRACEPOINTS_MAX && flags[i].tracepoints[n]; n++)
			if ((values & flags[i].value) && !has_flag(tracepoints, plain_name(flags[i].tracepoints[n])) &&
			    is_recorded(flags[i].tracepoints[n]))
				status = common_string_list_add(tracepoints, plain_name(flags[i].tracepoints[n]));
	return status;
}

bool record_flags_have(uint32_t values, const char *tracepoint)
{
	for (size_t i = 0; i < COUNT; i++)
		for (size_t n = 0; (values & flags[i].value) && n < TRACEPOINTS_MAX && flags[i].tracepoints[n]; n++)
			if (!strcmp(plain_name(flags[i].tracepoints[n]), tracepoint))
				return true;
	return false;
}

void record_flags_names(uint32_t values, char *text, size_t size)
{
	size_t used = 0;

	text[0] = 0;
	for (size_t i = 0; i < COUNT; i++)
		if ((values & flags[i].value) && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", flags[i].name);
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Returns whether this user can record all tracepoints of the flag; if not, the error text has the reason. */
static bool works(const struct flag *flag)
{
	const struct common_string_list none = {NULL, 0};
	struct perf_tracing tracing = {0};
	struct kernel_event event;
	bool known = true;

	for (size_t i = 0; known && i < TRACEPOINTS_MAX && flag->tracepoints[i]; i++) {
		if (*flag->tracepoints[i] == OPTIONAL)
			continue;
		known = kernel_event_parse(flag->tracepoints[i], &none, &tracing, &event) == 0;
		if (known)
			kernel_event_free(&event, 0);
	}
	perf_tracing_free(&tracing);
	return known;
}

static void print_group(FILE *file, const struct group *group, uint32_t permitted)
{
	char names[256];

	record_flags_names(group->values, names, sizeof(names));
	fprintf(file, "%-17s 0x%08x %-6s %s", group->name, group->values,
		(group->values & permitted) == group->values ? "works" : "no", names);
	if (group->missing)
		fprintf(file, "; nothing here is what %s stands for", group->missing);
	fputc('\n', file);
}

void record_flags_list(FILE *file)
{
	char why[512] = "";
	uint32_t all_permitted = 0;

	for (size_t i = 0; i < COUNT; i++) {
		const struct flag *flag = &flags[i];
		const bool permitted = flag->reason || works(flag);

		all_permitted |= permitted ? flag->value : 0;
		if (!permitted && !why[0])
			snprintf(why, sizeof(why), "%s: %s", flag->name, ptl_error_text());
		fprintf(file, "%-17s 0x%08x %-6s", flag->name, flag->value,
			permitted && !flag->reason ? "works" : "no");
		for (size_t n = 0; n < TRACEPOINTS_MAX && flag->tracepoints[n]; n++)
			fprintf(file, " %s", plain_name(flag->tracepoints[n]));
		if (flag->reason || flag->always)
			fprintf(file, " %s", flag->reason ? flag->reason : flag->always);
		fputc('\n', file);
	}
	for (size_t i = 0; i < GROUPS; i++)
		print_group(file, &groups[i], all_permitted);
	if (why[0])
		common_message_note("%s", why);
}
