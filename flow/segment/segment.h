/* SPDX-License-Identifier: BSD-2-Clause */
/* Cuts PT streams into segments, from one PSB to the next: the units of parallel decoding. */
#ifndef FLOW_SEGMENT_SEGMENT_H
#define FLOW_SEGMENT_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/timeline/timeline.h"

/* One of the parts of what lies between two PSBs of a CPU's stream: it ends where the next one begins. */
struct flow_segment_part {
	uint64_t skip; /* these as of flow_segment */
	uint64_t code_time;
	uint32_t process;
	bool unknown;
	bool ends_disabled;
};

/*
 * What one thread runs on a CPU, of which the kernel's code is traced, too: from one passage through the function in which
 * the kernel goes over from one thread to another, to the next.
 */
struct flow_turn {
	uint64_t time;     /* the kernel goes over to the thread from this time on */
	uint64_t skip;     /* of the segment: about where its packets begin, by the times of packets */
	uint32_t pid, tid; /* PTL_NO_ID: not known */
	uint32_t process;  /* as those of flow_segment */
	uint32_t thread;
	uint32_t group; /* that of the segment that has the turn */
};

/* All turns in what lies between two PSBs, in order. */
struct flow_turns {
	struct flow_turns *next;  /* of the list of segments */
	uint64_t entry;           /* address of that function */
	uint64_t time, code_time; /* of the PSB, as those of flow_segment */
	uint64_t size;            /* up to the next segment, or the stream's end */
	uint64_t end_time;        /* of that; FLOW_TIME_END: not known */
	uint32_t
		period; /* nanoseconds in which a timing packet comes before what has a later time; UINT32_MAX: not known */
	bool has_next;
	bool open;       /* the flow shows whether the PSB is of the first turn or of the second one */
	uint32_t groups; /* turns of one thread, between which it did nothing elsewhere, are one group */
	size_t count;
	struct flow_turn list[];
};

struct flow_segment {
	size_t index;    /* its place in the list */
	uint32_t stream; /* id */
	uint32_t cpu;    /* PTL_NO_CPU where the stream belongs to a thread */
	uint32_t pid;    /* whose flow it is; PTL_NO_ID unknown */
	uint32_t tid;
	uint32_t process; /* index in the timeline, FLOW_NONE */
	uint32_t thread;  /* index in the timeline, FLOW_NONE */
	/* Number of its stream among the selected ones: a group's segments are consecutive. */
	size_t group;
	uint64_t offset; /* of its PSB in the stream; of the first byte where it has no PSB */
	uint64_t size;   /* bytes up to the next segment of the stream, or to its end */
	/*
	 * Of a CPU's stream with context switches, a segment may be a part of what lies between two PSBs: these bytes
	 * at its beginning belong to parts before it, and only give it the time.
	 */
	uint64_t skip;
	/* The parts before it, from the PSB on, of any thread: the CPU remembers calls of theirs. */
	const struct flow_segment_part *before;
	size_t before_count;
	/*
	 * Threads take turns within flow: the segment has those of one group, and is decoded from the PSB on, whatever skip and
	 * size are; these only share the bytes out. NULL: they do not.
	 */
	const struct flow_turns *turns;
	uint32_t turn_group;
	uint32_t last_turn; /* of the group */
	uint64_t time;      /* of its PSB; 0 unknown */
	/* The version of the address space of this time is the one that holds at its PSB. */
	uint64_t code_time;
	uint64_t order_time; /* time, or the last one known: never less than its forerunner's */
	uint64_t end_time;   /* of the next segment's PSB; 0 unknown, or the stream's last one */
	bool has_psb;        /* false: bytes in which decoding cannot start */
	bool has_next;       /* another segment of the stream follows */
	bool ends_disabled;  /* another part follows, and packets are disabled where it begins */
	bool unknown;        /* the owner of these packets is unknown: a gap */
	bool switched;       /* the thread is known from context switches */
	bool first;          /* of its group */
	bool last;
	uint32_t source; /* of flow_segments_join: which list it was in */
};

/* What to decode. Zero-initialised selects everything. */
struct flow_selection {
	const uint32_t *pids; /* any of these */
	size_t pid_count;
	const uint32_t *tids;
	size_t tid_count;
	const uint32_t *cpus; /* streams of these CPUs; those of threads have none, and are out */
	size_t cpu_count;
	uint64_t first_time; /* trace clock, inclusive */
	uint64_t last_time;  /* inclusive; 0 means no end */
	/* Of each stream, only the segments that begin from *first on and before *end. NULL: all. */
	void (*range)(void *context, uint32_t stream, uint64_t *first, uint64_t *end);
	void *range_context;
};

struct flow_segment_list {
	struct flow_segment *segments;
	size_t count;
	size_t groups;
	struct flow_segment_parts *parts; /* what segments' `before` point to */
	struct flow_turns *turns;         /* likewise */
	uint64_t bytes;                   /* of PT in all segments */
};

/*
 * Lists the segments that the selection asks for: streams in the order of (process, thread, first
 * time), segments in the order of their offset. With a time window, those that may overlap it; a
 * segment without a known time always may. PTL_NO_MEMORY, or what the reader says. Free with
 * flow_segments_free.
 */
int flow_segments_list(struct ptl_trace *trace, const struct flow_timeline *timeline,
		       const struct flow_selection *selection, struct flow_segment_list *list);
void flow_segments_free(struct flow_segment_list *list);

/* What one of several shards has of each stream: the segments that begin from `first` on and before `end`. */
struct flow_segment_range {
	uint32_t stream;
	uint64_t first, end;
};

struct flow_segment_shard {
	struct flow_segment_range *ranges; /* in order of streams' ids */
	size_t count;
};

/*
 * Cuts what the selection asks for into `count` shards of about the same number of PT bytes, and gives the one of this number,
 * from 1 on. Needs the index alone: no PT is read. Each segment is in one of the shards, and in the order of
 * flow_segments_list all those of a stream with a lower number come before it. What flow_segments_list returns. The range's
 * function takes the shard as its context.
 */
int flow_segments_shard(struct ptl_trace *trace, const struct flow_timeline *timeline,
			const struct flow_selection *selection, uint32_t number, uint32_t count,
			struct flow_segment_shard *shard);
void flow_segments_shard_range(void *shard, uint32_t stream, uint64_t *first, uint64_t *end);
void flow_segments_shard_free(struct flow_segment_shard *shard);

/*
 * Puts the segments of several shards' lists, all of which are in this one by now, into the order and groups of the one list
 * that flow_segments_list would have made. PTL_CORRUPT where they cannot be of this trace, or one is there twice; PTL_NO_MEMORY.
 */
int flow_segments_join(const struct ptl_trace *trace, const struct flow_timeline *timeline,
		       const struct flow_selection *selection, struct flow_segment_list *list);

#endif
