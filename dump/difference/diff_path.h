/* SPDX-License-Identifier: BSD-2-Clause */
/* The way of each thread as units that do not depend on where code was: hashes of it, and stretches of it. */
#ifndef DUMP_DIFFERENCE_DIFF_PATH_H
#define DUMP_DIFFERENCE_DIFF_PATH_H

#include "dump/difference/diff_side.h"
#include "flow/view/view.h"

/*
 * Code that ran up to a branch, whatever splits it into blocks; of an image that was built again, a function that was called;
 * or a gap.
 */
struct dump_diff_unit {
	uint64_t first,
		end;      /* in the image; of a function, the number of its name, and 0; of a gap, its cause, and 0 */
	uint32_t key;     /* of the image; DUMP_DIFF_GAP */
	uint32_t image;   /* what follows is for showing: the index in the timeline, */
	uint64_t ip;      /* and addresses in the process, of the first instruction */
	uint64_t last_ip; /* and the last one */
	uint8_t branch;
};

#define DUMP_DIFF_GAP 0u
#define DUMP_DIFF_CHUNK 4096u /* units between two hashes */

/* A thread, or what is traced as one. */
struct dump_diff_thread {
	uint32_t process, thread; /* indexes in the timeline, or FLOW_NONE */
	uint32_t pid, tid, cpu;
	size_t group;
	uint64_t units;
	uint64_t *hashes; /* of all units up to the end of each chunk, the last of which need not be full */
	size_t hash_count;
	/* Units from number `from` on, of those that were asked for. */
	uint64_t from, wanted;
	struct dump_diff_unit *stretch;
	size_t stretch_count;
};

struct dump_diff_path {
	struct dump_diff_thread *threads; /* in the order of processes and threads in the timeline */
	size_t count;
};

/*
 * Decodes a trace. Threads that are there already, by an earlier call, get the stretches that they want: units from `from` on,
 * `wanted` of them; no hashes are made then. Free with dump_diff_path_free, also after a failure.
 */
int dump_diff_path_run(const struct dump_diff *diff, const struct dump_diff_run *run, struct dump_diff_path *path);
void dump_diff_path_free(struct dump_diff_path *path);

static inline bool dump_diff_same_unit(const struct dump_diff_unit *a, const struct dump_diff_unit *b)
{
	return a->key == b->key && a->first == b->first && a->end == b->end;
}

#endif
