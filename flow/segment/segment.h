/* SPDX-License-Identifier: BSD-2-Clause */
/* Cuts PT streams into segments, from one PSB to the next. Segments are the units of parallel decoding. */
#ifndef FLOW_SEGMENT_SEGMENT_H
#define FLOW_SEGMENT_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/timeline/timeline.h"

/* A part of a segment of a CPU's stream. A part ends at the beginning of the next part. */
struct flow_segment_part {
	uint64_t skip; /* all members as in flow_segment */
	uint64_t code_time;
	uint32_t process;
	bool unknown;
	bool ends_disabled;
};

/*
 * One thread's turn on a CPU whose kernel code is traced. A turn begins and ends when the CPU passes
 * FLOW_TURN_FUNCTION, in which the kernel switches from one thread to another.
 */
struct flow_turn {
	uint64_t time;     /* earliest time at which the kernel switches to the thread */
	uint64_t skip;     /* approximate offset of the turn's packets in the segment, from the times of packets */
	uint32_t pid, tid; /* PTL_NO_ID: unknown */
	uint32_t process;  /* process and thread as in flow_segment */
	uint32_t thread;
	uint32_t group; /* turn_group of the turn's segment */
};

/* All turns between two PSBs, in order. */
struct flow_turns {
	struct flow_turns *next;  /* next element in the list of the segment list */
	uint64_t entry;           /* address of FLOW_TURN_FUNCTION */
	uint64_t time, code_time; /* times of the PSB, as in flow_segment */
	uint64_t size;            /* bytes up to the next segment, or to the stream's end */
	uint64_t end_time;        /* time of the end; FLOW_TIME_END: unknown */
	uint32_t period; /* within so many nanoseconds, a timing packet precedes later packets; UINT32_MAX: unknown */
	bool has_next;
	bool open; /* the flow has to show whether the PSB is in the first or the second turn */
	/* number of groups; turns of a thread are one group unless the thread ran on another CPU in between */
	uint32_t groups;
	size_t count;
	struct flow_turn list[];
};

struct flow_segment {
	size_t index;    /* index in the list */
	uint32_t stream; /* id of the stream */
	uint32_t cpu;    /* PTL_NO_CPU: the stream belongs to a thread */
	uint32_t pid;    /* pid of the flow's process; PTL_NO_ID unknown */
	uint32_t tid;
	uint32_t process; /* index in the timeline, FLOW_NONE */
	uint32_t thread;  /* index in the timeline, FLOW_NONE */
	/* Number of the segment's group. The segments of a group are consecutive in the list. */
	size_t group;
	uint64_t offset; /* stream offset of the PSB, or of the first byte if the segment has no PSB */
	uint64_t size;   /* bytes up to the next segment, or to the stream's end */
	/*
	 * Bytes at the beginning that belong to earlier parts. If a CPU's stream has context switches, a segment may be
	 * a part of the packets between two PSBs. The skipped bytes only give the time.
	 */
	uint64_t skip;
	/* Earlier parts of any thread, from the PSB on. A CPU remembers the calls of these parts. */
	const struct flow_segment_part *before;
	size_t before_count;
	/*
	 * Turns, if threads take turns within the flow. Then the segment has the turns of one group, and decoding
	 * begins at the PSB regardless of skip and size. skip and size only divide the bytes among groups. NULL: no
	 * turns.
	 */
	const struct flow_turns *turns;
	uint32_t turn_group;
	uint32_t last_turn; /* last turn of the group */
	uint64_t time;      /* time of the PSB; 0 unknown */
	/* Time of the address space version that is valid at the PSB. */
	uint64_t code_time;
	uint64_t order_time; /* time, or the last known time; never decreases within a stream */
	uint64_t end_time;   /* time of the next segment's PSB; 0: unknown, or the stream's last segment */
	bool has_psb;        /* false: the segment cannot be decoded */
	bool has_next;       /* another segment of the stream follows */
	bool ends_disabled;  /* another part follows, and packets are disabled at its beginning */
	bool unknown;        /* the thread of these packets is unknown: a gap */
	bool switched;       /* the thread is known from context switches */
	bool first;          /* first segment of the group */
	bool last;
	uint32_t source; /* number of the list before flow_segments_join */
};

/* What to decode. Zero-initialised selects everything. */
struct flow_selection {
	const uint32_t *pids; /* flow of any of these processes */
	size_t pid_count;
	const uint32_t *tids;
	size_t tid_count;
	const uint32_t *cpus; /* streams of these CPUs; streams of threads have no CPU and are left out */
	size_t cpu_count;
	uint64_t first_time; /* trace clock, inclusive */
	uint64_t last_time;  /* inclusive; 0: no end */
	/* Limits the segments of a stream to offsets at or behind *first and before *end. NULL: all segments. */
	void (*range)(void *context, uint32_t stream, uint64_t *first, uint64_t *end);
	void *range_context;
};

struct flow_segment_list {
	struct flow_segment *segments;
	size_t count;
	size_t groups;
	struct flow_segment_parts *parts; /* storage of the segments' `before` */
	struct flow_turns *turns;         /* storage of the segments' `turns` */
	uint64_t bytes;                   /* bytes of PT in all segments */
};

/*
 * Lists the selected segments: streams ordered by process, thread and first time; segments ordered by offset. A time
 * window selects segments that may overlap the window; segments without a known time may always overlap.
 * Returns PTL_NO_MEMORY, or an error of the reader. Free with flow_segments_free.
 */
int flow_segments_list(struct ptl_trace *trace, const struct flow_timeline *timeline,
		       const struct flow_selection *selection, struct flow_segment_list *list);
void flow_segments_free(struct flow_segment_list *list);

/* A shard's range of a stream: segments that begin at or behind `first` and before `end`. */
struct flow_segment_range {
	uint32_t stream;
	uint64_t first, end;
};

struct flow_segment_shard {
	struct flow_segment_range *ranges; /* ranges in order of stream ids */
	size_t count;
};

/*
 * Cuts the selected segments into `count` shards with about equal numbers of PT bytes, and finds the shard `number`,
 * from 1. Reads the index only, no PT. Each segment is in exactly one shard. In the order of flow_segments_list, the
 * segments of a stream in lower shards come first.
 * Returns errors as flow_segments_list does. flow_segments_shard_range takes the shard as its context.
 */
int flow_segments_shard(struct ptl_trace *trace, const struct flow_timeline *timeline,
			const struct flow_selection *selection, uint32_t number, uint32_t count,
			struct flow_segment_shard *shard);
void flow_segments_shard_range(void *shard, uint32_t stream, uint64_t *first, uint64_t *end);
void flow_segments_shard_free(struct flow_segment_shard *shard);

/*
 * Sorts and groups the segments of several shards as flow_segments_list would. The caller has put all segments into
 * `list`.
 * Returns PTL_CORRUPT if a segment cannot be of this trace, or if a segment occurs twice; PTL_NO_MEMORY.
 */
int flow_segments_join(const struct ptl_trace *trace, const struct flow_timeline *timeline,
		       const struct flow_selection *selection, struct flow_segment_list *list);

#endif
