/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The path of each thread as units that do not depend on load addresses: hashes of all units, and stretches of units.
 */
#ifndef ANALYSIS_DIFFERENCE_DIFF_PATH_H
#define ANALYSIS_DIFFERENCE_DIFF_PATH_H

#include "analysis/difference/diff_side.h"
#include "flow/view/view.h"

/*
 * A unit of a path: code up to a branch, however blocks split the code. In a rebuilt image: a called function. Or a
 * gap.
 */
struct analysis_diff_unit {
	/* addresses in the image; of a function: the number of its name, and 0; of a gap: the cause, and 0 */
	uint64_t first, end;
	uint32_t key;     /* of the image; ANALYSIS_DIFF_GAP */
	uint32_t image;   /* index in the timeline; this member and all below are only for display */
	uint64_t ip;      /* address of the first instruction in the process */
	uint64_t last_ip; /* address of the last instruction in the process */
	uint8_t branch;
	uint8_t code;    /* enum analysis_diff_code */
	bool is_ignored; /* only the begin of code that depends on other threads: no unit of the path */
};

/* What a unit is, for leaving out code that depends on other threads. */
enum analysis_diff_code {
	ANALYSIS_DIFF_PLAIN,
	ANALYSIS_DIFF_LIBRARY,   /* of the C library or the vdso */
	ANALYSIS_DIFF_LINKER,    /* of the dynamic linker */
	ANALYSIS_DIFF_WAITING,   /* as LIBRARY: a function that waits for other threads begins */
	ANALYSIS_DIFF_RESOLVING, /* as LINKER: the first call of a function through the PLT looks up its address */
};

#define ANALYSIS_DIFF_GAP 0u
#define ANALYSIS_DIFF_SKETCH 128u /* counters of a sketch */
#define ANALYSIS_DIFF_CHUNK 4096u /* units between two hashes */

/* A thread, or a CPU that is traced as one thread. */
struct analysis_diff_thread {
	uint32_t process, thread; /* indexes in the timeline, or FLOW_NONE */
	uint32_t pid, tid, cpu;
	size_t group;
	uint64_t units;
	/* Counts of units by the hash of the unit: similar for threads that do similar things, in any order. */
	uint32_t sketch[ANALYSIS_DIFF_SKETCH];
	uint64_t waiting; /* units that were left out */
	uint64_t *hashes; /* hash of all units up to the end of each chunk; the last chunk may be partial */
	size_t hash_count;
	/* requested stretch: the number of its first unit, and its length in units */
	uint64_t from, wanted;
	struct analysis_diff_unit *stretch;
	size_t stretch_count;
};

struct analysis_diff_path {
	struct analysis_diff_thread *threads; /* ordered as processes and threads in the timeline */
	size_t count;
};

/*
 * Decodes a trace. In a first call, computes hashes. In a later call, fills the requested stretch of each thread
 * (`from`, `wanted`) and computes no hashes. Call analysis_diff_path_free in any case.
 */
int analysis_diff_path_run(const struct analysis_diff *diff, const struct analysis_diff_run *run,
			   struct analysis_diff_path *path);
void analysis_diff_path_free(struct analysis_diff_path *path);

static inline bool analysis_diff_same_unit(const struct analysis_diff_unit *a, const struct analysis_diff_unit *b)
{
	return a->key == b->key && a->first == b->first && a->end == b->end;
}

#endif
