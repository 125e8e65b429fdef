/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals of the relogger: inputs, stages, the reorder window, and the steps of a run. */
#ifndef FORMAT_RELOGGER_RELOGGER_INTERNAL_H
#define FORMAT_RELOGGER_RELOGGER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/relogger.h>
#include <ptl/writer.h>

#include "common/bytes.h"
#include "common/file.h"
#include "common/hash_map.h"
#include "format/metadata/input_hash.h"
#include "format/metadata/metadata.h"
#include "format/reader/parts.h"
#include "format/relogger/clocks.h"
#include "format/relogger/names.h"

/* Memory for copies of an event's payload or extended items. */
struct format_event_memory {
	struct ptl_bytes bytes[2]; /* used alternately, as the copied data may be in the other buffer */
	unsigned turn;
};

struct ptl_trace_event {
	struct ptl_event record;
	struct ptl_relogger *relogger;
	struct ptl_relogger_input *input;
	struct format_event_memory payload;
	struct format_event_memory extended;
};

void format_event_memory_free(struct ptl_trace_event *event);

struct format_relogger_stage {
	struct ptl_relogger_callbacks callbacks;
	void *context;
	struct ptl_trace_event event; /* event passed to the stage's event callback */
};

/* A stream of an input, and its stream in the output. */
struct format_relogger_stream {
	struct format_origin origin;
	/*
	 * Streams of several inputs with the same origin form one stream of the output. The first of them is the
	 * leader.
	 */
	struct format_relogger_stream *leader; /* NULL: the stream leads itself */
	struct format_relogger_stream *member; /* next stream with the same leader; NULL: none */
	struct ptl_relogger_input *input;
	size_t number;      /* number in the input */
	uint32_t id;        /* id in the output */
	uint64_t last_time; /* time of the last written event */
	uint64_t cut;       /* position in the input's stream at which the output's stream starts */
	/* stream record, delayed until it is known that the stream is kept; or NULL */
	const struct ptl_record *declared;
	/* For a trace that is being written: */
	uint32_t source; /* id in the input */
	bool decided;    /* declared in the output, or dropped */
	bool dropped;
	size_t copied; /* number of buffers copied */
};

/* Progress of a trace that is being written. */
struct format_live {
	size_t stream_count; /* number of elements of input->streams */
	size_t records;
	size_t blobs;                   /* number of blobs checked */
	struct common_hash_map foreign; /* numbers of blobs that a callback added to the output */
	bool copies_blobs;              /* blobs are copied as they arrive */
	/* For a stage that looks ahead, see ahead.h. */
	struct format_merge *ahead;
	struct format_merge_input merged;
	int (*see)(void *context, const struct ptl_event *event);
	void *see_context;
	bool ask_again; /* ask the stages again about dropped streams */
	bool telling;   /* records are passed again, for streams not yet declared */
};

/* The part of a recording that an input contains, in times of the output; see PTL_LOSS_CUT in ptl/trace.h. */
struct format_part {
	uint8_t recording[16];
	uint64_t first, last, known;
	uint64_t events, bytes; /* dropped events and bytes of the recording */
	/* record that states the part; NULL: none, so the part is the whole recording */
	const struct ptl_record *record;
	/* rundown at the start or end is redundant, as another input covers the border */
	bool start_again, end_again;
};

struct ptl_relogger_input {
	struct ptl_relogger *relogger;
	size_t number;
	char *name;
	char *alias; /* name in provenance; NULL: `name` */
	void *context;
	int fd; /* descriptor of the same file, for its raw bytes */
	struct ptl_trace *trace;
	uint32_t machine;
	uint16_t *machines; /* index in the output, by index in the input */
	size_t machine_count;
	bool renumbered;                       /* some machine indexes differ */
	size_t recording;                      /* number of the recording, shared by its parts */
	bool changed;                          /* events are changed even without callbacks */
	const struct ptl_schema *schema;       /* schema of the last event whose ids were changed */
	struct ptl_bytes payload;              /* payload of the last changed event */
	struct format_clock_relation relation; /* stated by the user */
	const char *machine_name;              /* stated by the user; NULL: as recorded */
	int64_t time_shift;
	uint64_t uncertainty;
	size_t losses;
	struct format_relogger_stream *streams; /* by number of the stream in the trace */
	bool whole;                             /* no callback needs the streams, and their content is unchanged */
	/* hash in progress while the input is copied; NULL: not hashed during copying */
	struct format_input_hash *hash;
	uint64_t hashed;                      /* bytes hashed */
	struct ptl_provenance_input itself;   /* provenance of an input without origins */
	struct ptl_provenance_input *origins; /* original files; names are owned */
	size_t origin_count;
	uint8_t identity[16]; /* identity of the source of the streams; all zero: unknown */
	bool has_identity;    /* the caller set the identity; otherwise it is the file's GUID */
	struct format_part *parts;
	size_t part_count;
	bool joined;                          /* some stream is joined with a stream of another input */
	uint64_t first_event, last_event;     /* times of the event buffers */
	uint64_t events, bytes;               /* totals: events without rundown of cuts; bytes of PT and TRUTH */
	uint64_t shared_events, shared_bytes; /* events and bytes also present in a preceding input */
	struct format_live *live;             /* state of an input that is being written; else NULL */
};

/* Common events of inputs at one time, and the range of times with a known set of inputs: dedup.c. */
struct format_dedup {
	bool any;           /* some inputs are joined */
	uint64_t low, high; /* range of times, both inclusive, for `overlap` */
	bool overlap;       /* several inputs have events in this range */
	uint64_t time;      /* time of the counted events */
	struct common_byte_map counts;
	struct format_held *waiting; /* events of this time, waiting for other inputs */
	size_t held;
	struct ptl_bytes key;
	struct common_byte_map records;
};

/* A stream of the output for out-of-order events. */
struct format_window_stream {
	uint32_t id;
	uint64_t written; /* time of the last event */
};

/*
 * Most streams of the window of a trace that is being written. The window cannot wait to the trace's end, so late
 * events go to additional streams.
 */
#define FORMAT_WINDOW_STREAMS 64

/* An event waiting in the window. */
struct format_waiting {
	uint64_t time;
	uint64_t number; /* order of injection */
	uint8_t *data;   /* packed by format_event_pack */
	size_t size;
};

struct format_window {
	struct format_waiting *heap; /* the earliest event is first */
	size_t count;
	size_t bytes;
	uint64_t number;
	struct format_window_stream streams[FORMAT_WINDOW_STREAMS];
	size_t stream_count; /* number of declared streams */
	size_t stream_limit;
};

/*
 * Share of the memory limit for the decompressed buffers of an input: 1/8. All inputs together take at most the share
 * of two.
 */
#define FORMAT_INPUT_SHARE 8

enum format_relogger_state { FORMAT_RELOGGER_NEW, FORMAT_RELOGGER_RUNNING, FORMAT_RELOGGER_DONE };

struct ptl_relogger {
	struct ptl_relogger_options options;
	enum format_relogger_state state;
	atomic_bool cancelled;
	atomic_bool stopped; /* treat the data so far as the whole trace that is being written */
	struct ptl_relogger_input **inputs;
	size_t input_count;
	struct format_relogger_stage **stages;
	size_t stage_count;
	/* Output: */
	struct common_output_file file;
	int fd; /* descriptor given as the output; -1: none */
	bool has_output;
	bool recompress;
	bool unfinished; /* write no trailer */
	int level;
	struct ptl_writer *writer;
	/* Provenance; texts are owned: */
	char *tool, *version, *command, *rules;
	struct ptl_bytes unmatched;   /* rules that matched nothing, one per line */
	struct ptl_machine *machines; /* machines of the output, by index */
	size_t machine_count;
	size_t recordings; /* number of recordings numbered so far */
	bool own_machines; /* the relogger writes the machine records, instead of copying those of the first input */
	bool has_machine;  /* a callback set the machine */
	struct ptl_machine machine;
	/* While events pass: */
	size_t stage;                           /* stage whose callback runs */
	struct ptl_relogger_input *input;       /* input of the current event; NULL: none */
	struct format_relogger_stream *current; /* stream of the current event; NULL: none */
	uint64_t time;                          /* time of the current event */
	size_t first_input;                     /* first of the merged inputs */
	uint64_t calls;
	bool ended; /* no more events are accepted */
	struct format_window window;
	struct format_dedup dedup;
	bool has_change;    /* ptl_relogger_change was called */
	uint8_t change[16]; /* hash of the data of ptl_relogger_change; all zero: none */
	struct ptl_cut cut; /* cut stated by callbacks */
	bool has_cut;
	struct ptl_relogger_counts counts;
	pthread_t hasher;
	bool hashing; /* the hashing thread runs */
	bool hashed;
	int hash_status;
	char *hash_error;
	uint64_t done, total; /* progress in bytes */
};

/* Calls the user's warning function. */
void format_relogger_warn(const struct ptl_relogger *relogger, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void format_relogger_progress(struct ptl_relogger *relogger, uint64_t bytes);

/* Numbers the machines of all inputs, and computes the shifts of their times. */
int format_relogger_find_machines(struct ptl_relogger *relogger);

/*
 * Parts of one recording that are merged again (parts.c). Finds the recordings of the inputs and the streams to be
 * joined. Call after format_relogger_find_machines.
 */
int format_relogger_find_parts(struct ptl_relogger *relogger);
/* Writes losses that state which parts of recordings the output contains. */
int format_relogger_pass_parts(struct ptl_relogger *relogger);
void format_relogger_parts_free(struct ptl_relogger_input *input);
/*
 * For a trace that is being written: finds its identity; the origin of one stream, by default or from its record; and
 * at the end, its parts.
 */
void format_relogger_find_identity(struct ptl_relogger_input *input);
void format_relogger_find_origin(struct ptl_relogger_input *input, size_t stream);
void format_relogger_take_origin(struct ptl_relogger_input *input, const struct ptl_record *record);
int format_relogger_find_own_parts(struct ptl_relogger_input *input);
/* Finds the streams of inputs that have the same origin (joined.c). */
int format_relogger_join_streams(struct ptl_relogger *relogger);
/* Passes the bytes of a leader and its members: each byte once, in the order of the original positions. */
int format_relogger_pass_joined(struct ptl_relogger *relogger, struct format_relogger_stream *leader);
/* Asks the stages what to keep of a stream. The last stage owns the ranges. */
int format_relogger_plan_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
				struct ptl_stream_plan *plan);
/* Copies the bytes [first, end) of one buffer. A whole buffer is copied without decompression. */
int format_relogger_copy_range(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
			       size_t entry, uint64_t first, uint64_t end);
int format_relogger_copy_hole(struct ptl_relogger *relogger, const struct format_relogger_stream *target, uint64_t size,
			      uint64_t time);

/* Drops duplicates of events that several inputs have (dedup.c). */
enum format_dedup_result { FORMAT_DEDUP_PASS, FORMAT_DEDUP_DROP };
/* Decides about an event. Negative: an error. */
int format_dedup_event(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
		       const struct ptl_event *event);
/* Passes the waiting events of earlier times. */
int format_dedup_flush(struct ptl_relogger *relogger);
/* Decides about a metadata record; body: as it will be written. */
int format_dedup_record(struct ptl_relogger *relogger, const struct ptl_relogger_input *input, uint64_t type,
			const void *body, size_t size);
void format_dedup_free(struct format_dedup *dedup);

/* Writes the record of a stream after the decision to keep the stream. */
int format_relogger_declare_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream);
/* Passes a loss record of an input, with the output's ids and times. */
int format_relogger_pass_loss(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			      const struct ptl_record *record);
/* Passes the metadata of all inputs and declares streams. */
int format_relogger_pass_records(struct ptl_relogger *relogger);
/*
 * Passes a record of an input through the stages. format_relogger_number_stream assigns a stream its id in the output.
 */
int format_relogger_pass_record(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
				const struct ptl_record *record);
int format_relogger_number_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream);
/*
 * Passes a trace that is being written, until it is over (live.c): records, events, streams, and blobs unless a
 * callback decides about blobs.
 */
int format_relogger_pass_live(struct ptl_relogger *relogger);
/* Passes the record of a stream of a trace that is being written. */
int format_relogger_tell_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
				const struct ptl_record *record);
void format_relogger_live_free(struct ptl_relogger_input *input);
/* Whether any stage has an event callback. */
bool format_relogger_looks_at_events(const struct ptl_relogger *relogger);
/* Passes an event of an input to the first stage. */
int format_relogger_take_event(void *context, const struct format_merge_place *place, const struct ptl_event *event);
/* Passes all events, merged, through the stages; or copies event buffers unchanged. */
int format_relogger_pass_events(struct ptl_relogger *relogger);
/* Passes streams of PT, TRUTH and unknown kinds. */
int format_relogger_pass_streams(struct ptl_relogger *relogger);
/* Copies a stream; plan (may be NULL) selects ranges. */
int format_relogger_copy_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
				const struct ptl_stream_plan *plan);
/*
 * Copies a buffer unchanged, or recompressed; skips a damaged buffer. look() (may be NULL) gets the buffer's bytes in
 * the file, with `input` as its context.
 */
int format_relogger_copy_buffer(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
				size_t entry,
				int (*look)(void *context, uint64_t offset, const uint8_t *data, size_t size));
/* Sets `whole` of each input; called before hashing starts. PTL_NO_MEMORY. */
int format_relogger_find_whole(struct ptl_relogger *relogger);
/* Copies all streams of an input with `whole`, including events, in the order of the file. */
int format_relogger_copy_whole(struct ptl_relogger *relogger, struct ptl_relogger_input *input);
/* Hashes the bytes that were not copied, of an input hashed during copying, and stores the hash in input->itself. */
int format_relogger_finish_whole(struct ptl_relogger_input *input);
int format_relogger_pass_blobs(struct ptl_relogger *relogger);
/* Copies a buffer of blobs unchanged; or a piece of one blob. Skips damage. */
int format_relogger_copy_blobs(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
			       size_t entry);
int format_relogger_copy_piece(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			       const struct ptl_blob_info *blob, const struct format_blob_piece *piece);
/* Writes loss records for unreadable data of the inputs. */
int format_relogger_pass_damage(struct ptl_relogger *relogger);
/*
 * Hashes an input in the calling thread and stores the hash in input->itself. PTL_NO_MEMORY, PTL_SYSTEM, PTL_CANCELLED.
 */
int format_relogger_hash_input(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			       enum ptl_hash_kind kind);
/* Starts hashing the inputs in a separate thread. */
void format_relogger_start_hashes(struct ptl_relogger *relogger);
/* Waits for the hashing thread, which ends soon after ptl_relogger_cancel. */
void format_relogger_stop_hashes(struct ptl_relogger *relogger);
/* Sets the origin of every input without origins: its own name, size and hash. */
int format_relogger_finish_hashes(struct ptl_relogger *relogger);
/* Writes the history step of this run, and the machines. */
int format_relogger_finish_records(struct ptl_relogger *relogger);

/* Passes an event to the first stage from `stage` on with an event callback, or to the file. */
int format_relogger_pass(struct ptl_relogger *relogger, size_t stage, const struct ptl_event *event,
			 struct ptl_relogger_input *input);
/* Adds an event that is out of order. PTL_MISUSE if the window's limits are exceeded. */
int format_window_add(struct ptl_relogger *relogger, const struct ptl_event *event);
/* Writes the waiting events up to the time `until`. */
int format_window_flush(struct ptl_relogger *relogger, uint64_t until);
void format_window_free(struct format_window *window);

#endif
