/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of the source. */
#include "record/intel_pt/options.h"

#include "record/capture/settings.h"
#include "record/intel_pt/queue.h"

#define FILTERS_MAX 16
#define PROCESSES_MAX 64
#define TRIGGERS_MAX 16
#define CPUS_MAX 65536
#define AUX_MIN (8u << 10)
#define AUX_MAX (1u << 30)
#define QUEUE_MAX (UINT64_MAX >> 16)
#define DRAIN_THREADS_MAX 1024
#define RATE_MIN (64u << 10)
#define RATE_MAX (1ull << 40)

static const char *const code_words[] = {"user", "kernel", "all", NULL}; /* indexed by enum record_pt_code */

const struct common_option intel_pt_options[] = {
	{"", 0, NULL, "Intel PT of the CPU (--source intel_pt)"},
	{"tid", 0, "TID,...", "as --pid, for single threads", COMMON_IDS(struct record_settings, pt.tids)},
	{"process", 0, "NAME",
	 "as --pid, for every process of this name, \"web*\", that runs or begins later, and what it starts, until the "
	 "recording ends; several times. With a slash it is held against the path of the program",
	 COMMON_STRINGS(struct record_settings, pt.processes, PROCESSES_MAX)},
	{"cpus", 0, "LIST", "record whatever runs on these CPUs, \"0,2-3\", or on all: all",
	 COMMON_STRING(struct record_settings, pt.cpus)},
	{"max-cpus", 0, "N", "COMMAND runs on N CPUs at most, which need buffers; of --cpus the first N",
	 COMMON_NUMBER(struct record_settings, pt.max_cpus, 1, CPUS_MAX)},
	{"per-thread", 0, NULL,
	 "a buffer for each thread, instead of each CPU; what they start is not recorded, but for threads, which "
	 "are found some milliseconds late",
	 COMMON_FLAG(struct record_settings, pt.per_thread)},
	{"code", 0, "CODE", "which code is recorded; user is the default",
	 COMMON_CHOICE(struct record_settings, pt.code, code_words)},
	{"pt", 0, "TERM[=VALUE],...",
	 "terms of the driver, as perf has them: cyc, cyc_thresh, mtc, mtc_period, psb_period, noretcomp, ptw, "
	 "fup_on_ptw, pwr_evt, event, notnt, branch; what this CPU cannot do is refused",
	 COMMON_STRING(struct record_settings, pt.terms)},
	{"filter", 0, "FILTER",
	 "record only what runs in a range: \"filter main @ ./prog\", \"filter FIRST / LAST @ LIB\", or until a thread "
	 "comes to "
	 "one: \"stop exit @ LIB\"; several times, as often as the CPU can",
	 COMMON_STRINGS(struct record_settings, pt.filters, FILTERS_MAX)},
	{"only-between", 0, "EVENT",
	 "record only from EVENT to the next event of --and, in each thread (with --cpus on each CPU): a tracepoint "
	 "SYSTEM:EVENT, uprobe:PATH:FUNCTION, or [FILE:]FUNCTION of COMMAND, with /return the function's return; needs "
	 "Linux 6.13",
	 COMMON_STRING(struct record_settings, pt.resume_at)},
	{"and", 0, "EVENT", "with --only-between: the event that pauses packets",
	 COMMON_STRING(struct record_settings, pt.pause_at)},
	{"max-rate", 0, "BYTES",
	 "packets of a second, of all CPUs together; whenever there are more, Intel PT is off for a while, which is a "
	 "loss",
	 COMMON_SIZE(struct record_settings, pt.max_rate, RATE_MIN, RATE_MAX)},
	{"snapshot", 0, NULL,
	 "write packets over and over into the same memory, and keep what is there at the end, on SIGUSR2, and when a "
	 "process dies of a signal",
	 COMMON_FLAG(struct record_settings, pt.snapshot)},
	{"snapshot-at", 0, "FUNCTION @ FILE",
	 "with --snapshot: keep what is there when a thread comes to this function; several times",
	 COMMON_STRINGS(struct record_settings, pt.triggers, TRIGGERS_MAX)},
	{"over", 0, "TIME", "with --snapshot-at: when the function has taken longer than this",
	 COMMON_DURATION(struct record_settings, pt.over, 1)},
	{"snapshot-depth", 0, "TIME", "with --snapshot: keep the last so much only, about",
	 COMMON_DURATION(struct record_settings, pt.depth, 1)},
	{"snapshot-when", 0, "EXPRESSION",
	 "with --snapshot: keep what is there when an event of --provider or --event matches, as in ptl-rules(5): "
	 "'Status >= "
	 "500'; several times",
	 COMMON_STRINGS(struct record_settings, pt.whens, TRIGGERS_MAX)},
	{"snapshots", 0, "N", "with --snapshot-at and --snapshot-when: end the recording after N of them",
	 COMMON_NUMBER(struct record_settings, pt.snapshots_max, 1, UINT32_MAX)},
	{"aux-buffer", 0, "BYTES", "memory for the packets of each CPU (4M, less where that is not permitted)",
	 COMMON_POWER_OF_TWO(struct record_settings, pt.aux_size, AUX_MIN, AUX_MAX)},
	{"aux-queue", 0, "BYTES",
	 "memory in which packets wait while the recorder is busy, as with code that a process maps (64M for each CPU, "
	 "at most an eighth of the machine's)",
	 COMMON_SIZE(struct record_settings, pt.queue_size, INTEL_PT_PIECE, QUEUE_MAX)},
	{"drain-threads", 0, "N", "threads that copy packets there (one for each 8 CPUs)",
	 COMMON_COUNT(struct record_settings, pt.drain_threads, 1, DRAIN_THREADS_MAX)},
	{NULL},
};
