/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call trees of threads as rows that can be opened and closed. Rows exist only as numbers: moves between rows use the
 * records of the trees, which may have millions of records in a file.
 */
#ifndef DUMP_BROWSE_CALL_ROWS_H
#define DUMP_BROWSE_CALL_ROWS_H

#include "analysis/call/call_tree.h"
#include "common/hash_map.h"

/* Calls of a thread, or of one program that the thread ran. */
struct dump_browse_thread {
	struct analysis_record_list list; /* owned; order as in analysis/call/call_tree.h */
	/* outermost frames, found after their callees, the outermost frame first; owned */
	struct analysis_call_record *below;
	size_t below_count;
	uint32_t *belows; /* number of frames in `below` for each stack; owned */
	size_t belows_count;
	uint32_t process, pid, tid, cpu;
	const struct flow_program *program; /* NULL: unknown */
};

/* Zero-initialised calls have no rows. */
struct dump_browse_calls {
	struct dump_browse_thread *threads; /* owned */
	size_t count, capacity;
	size_t in_memory; /* bytes of lists in memory, not in files */
	struct common_hash_map open;
	struct common_hash_map siblings; /* by parent: pointer to a struct siblings */
};

/* Number of a row. A row shows a thread or a record of the thread. */
typedef uint64_t dump_browse_row;

/* Contents of a row. A thread's own row has record NULL and level 0; calls have levels from 1. */
struct dump_browse_place {
	const struct dump_browse_thread *thread;
	const struct analysis_call_record *record;
	size_t level;
	bool has_children;
	bool open;
};

/*
 * Takes over the records of a thread from the tree, which is empty afterwards. Returns 0, PTL_NO_MEMORY or PTL_SYSTEM.
 */
int dump_browse_calls_take(struct dump_browse_calls *calls, struct analysis_call_tree *tree,
			   const struct analysis_call_thread *thread);
void dump_browse_calls_free(struct dump_browse_calls *calls);

/* Sets *row to the first row. Returns false without rows. */
bool dump_browse_calls_first(const struct dump_browse_calls *calls, dump_browse_row *row);
/* Move *row to the next or previous visible row. Return false at the end. */
bool dump_browse_calls_next(const struct dump_browse_calls *calls, dump_browse_row *row);
bool dump_browse_calls_previous(struct dump_browse_calls *calls, dump_browse_row *row);
/* Moves *row to its parent row. Returns false for a thread's row. */
bool dump_browse_calls_parent(struct dump_browse_calls *calls, dump_browse_row *row);
void dump_browse_calls_place(const struct dump_browse_calls *calls, dump_browse_row row,
			     struct dump_browse_place *place);

/* Opens a row with children. While an opened row has an only child, opens the child too. */
void dump_browse_calls_open(struct dump_browse_calls *calls, dump_browse_row row);
void dump_browse_calls_close(struct dump_browse_calls *calls, dump_browse_row row);
/*
 * Moves *row to the child with the longest time or, without times, the most instructions. Opens the path to the child.
 * Returns false without children.
 */
bool dump_browse_calls_costliest(struct dump_browse_calls *calls, dump_browse_row *row);

/*
 * Moves *row to the next (back: previous) matching record, visible or not, and opens all its parents. Returns false if
 * no record matches.
 */
bool dump_browse_calls_search(struct dump_browse_calls *calls, dump_browse_row *row, bool back,
			      bool (*matches)(void *context, const struct analysis_call_record *record), void *context);

#endif
