/* SPDX-License-Identifier: BSD-2-Clause */
/* The relogger's inside: inputs, stages, the reorder window, and the parts that a run consists of. */
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
#include "format/relogger/names.h"

/* Memory that an event's payload or extended items were copied into. */
struct format_event_memory {
	struct ptl_bytes bytes[2]; /* taken in turn, as what is copied may lie in the other one */
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
	struct ptl_trace_event event; /* what its event callback sees */
};

/* A stream of the output that holds events of one stream of an input. */
struct format_relogger_stream {
	struct format_origin origin;
	/* Streams of several inputs with one origin are one stream of the output; the first of them leads. */
	struct format_relogger_stream *leader; /* NULL: itself */
	struct format_relogger_stream *member; /* the next of those that it leads; NULL: no more */
	struct ptl_relogger_input *input;
	size_t number;                     /* among its streams */
	uint32_t id;                       /* in the output */
	uint64_t last_time;                /* of the last event written */
	uint64_t cut;                      /* position of the input's stream where the output's starts */
	const struct ptl_record *declared; /* its stream record, which waits until it is known that it stays; or NULL */
	/* Of a trace that is being written: */
	uint32_t source; /* its id in the input */
	bool told;       /* it is declared in the output, or dropped */
	bool dropped;
	size_t copied; /* buffers */
};

/* What of a trace that is being written has passed. */
struct format_live {
	size_t stream_count; /* of input->streams */
	size_t records;
	size_t blobs;                   /* that were looked at */
	struct common_hash_map foreign; /* numbers of blobs that a callback has given to the output */
	bool copies_blobs;              /* as they come */
	/* A stage looks ahead: ahead.h. */
	struct format_merge *ahead;
	struct format_merge_input merged;
	int (*see)(void *context, const struct ptl_event *event);
	void *see_context;
	bool ask_again; /* about streams that were dropped */
	bool telling;   /* records are looked at again, of streams that have told nothing */
};

/* Which part of a recording an input holds, in times of the output; see PTL_LOSS_CUT in ptl/trace.h. */
struct format_part {
	uint8_t recording[16];
	uint64_t first, last, known;
	uint64_t events, bytes;          /* what of the recording is left out */
	const struct ptl_record *record; /* that says so; NULL: it is whole, as far as anybody says */
	bool start_again, end_again;     /* its rundown repeats what another input has */
};

struct ptl_relogger_input {
	struct ptl_relogger *relogger;
	size_t number;
	char *name;
	char *alias; /* what provenance calls it instead; NULL: its name */
	void *context;
	int fd; /* the same file, for its bytes as they are */
	struct ptl_trace *trace;
	uint32_t machine;
	uint16_t *machines; /* by index in the input: the index in the output */
	size_t machine_count;
	bool renumbered;                 /* some of them differ */
	size_t recording;                /* its number; parts of one recording have the same */
	bool changed;                    /* events are changed even if nobody asks for it */
	const struct ptl_schema *schema; /* of the last event whose ids were changed */
	struct ptl_bytes payload;        /* of that event */
	int64_t time_shift;
	uint64_t uncertainty;
	size_t losses;
	struct format_relogger_stream *streams; /* by number of the stream in the trace */
	bool whole;                             /* no callback looks into its streams, and nothing in them is changed */
	struct format_input_hash *hash;         /* under way while the input is copied; NULL: not hashed so */
	uint64_t hashed;                        /* bytes */
	struct ptl_provenance_input itself;     /* what provenance says of an input without origins */
	struct ptl_provenance_input *origins;   /* their names are owned */
	size_t origin_count;
	uint8_t identity[16]; /* names what its streams come from; all zero: nothing does */
	bool has_identity;    /* given by the caller, not the file's own */
	struct format_part *parts;
	size_t part_count;
	bool joined;                          /* a stream of it is one with that of another input */
	uint64_t first_event, last_event;     /* times of its event buffers */
	uint64_t events, bytes;               /* without rundown of cuts; of PT and TRUTH */
	uint64_t shared_events, shared_bytes; /* of these, what an input before had too */
	struct format_live *live;             /* it is being written; else NULL */
};

/* What inputs have in common at one time, and which interval of times needs a look: dedup.c. */
struct format_dedup {
	bool any;           /* some inputs are joined */
	uint64_t low, high; /* within these times, both inclusive: */
	bool overlap;       /* more than one of them has events */
	uint64_t time;      /* of what the counts are about */
	struct common_byte_map counts;
	struct format_held *waiting; /* events of that time that wait for others */
	size_t held;
	struct ptl_bytes key;
	struct common_byte_map records;
};

/* A stream of the output for events that were out of order. */
struct format_window_stream {
	uint32_t id;
	uint64_t written; /* time of the last event */
};

/* Of a trace that is being written the window cannot wait to its end: what comes later still goes into another stream. */
#define FORMAT_WINDOW_STREAMS 64

/* An event that waits in the window. */
struct format_waiting {
	uint64_t time;
	uint64_t number; /* order of injection */
	uint8_t *data;   /* as format_event_pack makes it */
	size_t size;
};

struct format_window {
	struct format_waiting *heap; /* the earliest first */
	size_t count;
	size_t bytes;
	uint64_t number;
	struct format_window_stream streams[FORMAT_WINDOW_STREAMS];
	size_t stream_count; /* that were declared */
	size_t stream_limit;
};

/* An input's decompressed buffers take this part of the memory limit at most; those of all inputs, as much as of two. */
#define FORMAT_INPUT_SHARE 8

enum format_relogger_state { FORMAT_RELOGGER_NEW, FORMAT_RELOGGER_RUNNING, FORMAT_RELOGGER_DONE };

struct ptl_relogger {
	struct ptl_relogger_options options;
	enum format_relogger_state state;
	atomic_bool cancelled;
	atomic_bool stopped; /* what has come of a trace that is being written is all of it */
	struct ptl_relogger_input **inputs;
	size_t input_count;
	struct format_relogger_stage **stages;
	size_t stage_count;
	/* Output: */
	struct common_output_file file;
	int fd; /* an output that was given as one; -1 */
	bool has_output;
	bool recompress;
	bool unfinished; /* the output gets no trailer */
	int level;
	struct ptl_writer *writer;
	/* Provenance: texts are owned. */
	char *tool, *version, *command, *rules;
	struct ptl_bytes unmatched;   /* rules that matched nothing, a line each */
	struct ptl_machine *machines; /* of the output, by index */
	size_t machine_count;
	size_t recordings; /* of the inputs that were numbered */
	bool own_machines; /* records of them are written, instead of the first input's */
	bool has_machine;  /* a callback gave one */
	struct ptl_machine machine;
	/* While events pass: */
	size_t stage;                           /* whose callback runs */
	struct ptl_relogger_input *input;       /* of the current event; NULL: none */
	struct format_relogger_stream *current; /* where the current event goes; NULL: none */
	uint64_t time;                          /* of the current event */
	size_t first_input;                     /* of those that are merged */
	uint64_t calls;
	bool ended; /* no more events are taken */
	struct format_window window;
	struct format_dedup dedup;
	bool has_change;    /* somebody has said what distinguishes this run's events */
	uint8_t change[16]; /* a hash of it; all zero: nothing does */
	struct ptl_cut cut; /* what the callbacks have cut */
	bool has_cut;
	struct ptl_relogger_counts counts;
	pthread_t hasher;
	bool hashing; /* the thread is there */
	bool hashed;
	int hash_status;
	char *hash_error;
	uint64_t done, total; /* progress, in bytes */
};

/* Calls the caller's warning function. */
void format_relogger_warn(const struct ptl_relogger *relogger, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void format_relogger_progress(struct ptl_relogger *relogger, uint64_t bytes);

/* Numbers the machines of all inputs, and finds how their times are shifted. */
int format_relogger_find_machines(struct ptl_relogger *relogger);

/*
 * Parts of one recording that are put together again (parts.c). Finds what the inputs are parts of, and which of their
 * streams are one. After the machines are known.
 */
int format_relogger_find_parts(struct ptl_relogger *relogger);
/* Losses that say which parts of recordings the output holds. */
int format_relogger_pass_parts(struct ptl_relogger *relogger);
void format_relogger_parts_free(struct ptl_relogger_input *input);
/* For a trace that is being written: what names it, where one stream comes from, or what its record says of that; and the parts, at the end. */
void format_relogger_find_identity(struct ptl_relogger_input *input);
void format_relogger_find_origin(struct ptl_relogger_input *input, size_t stream);
void format_relogger_take_origin(struct ptl_relogger_input *input, const struct ptl_record *record);
int format_relogger_find_own_parts(struct ptl_relogger_input *input);
/* Which streams of the inputs, whose origins are known, are one (joined.c). */
int format_relogger_join_streams(struct ptl_relogger *relogger);
/* A stream that leads others, with their bytes: each once, in the order of where they come from. */
int format_relogger_pass_joined(struct ptl_relogger *relogger, struct format_relogger_stream *leader);
/* What stages leave of a stream; the ranges are the stage's. */
int format_relogger_plan_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
				struct ptl_stream_plan *plan);
/* The bytes [first, end) of one buffer. A copy of the whole if that is what they are. */
int format_relogger_copy_range(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
			       size_t entry, uint64_t first, uint64_t end);
int format_relogger_copy_hole(struct ptl_relogger *relogger, const struct format_relogger_stream *target, uint64_t size,
			      uint64_t time);

/* Of the same events of several inputs each passes once (dedup.c). */
enum format_dedup_result { FORMAT_DEDUP_PASS, FORMAT_DEDUP_DROP };
/* What becomes of an event; negative: an error. */
int format_dedup_event(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
		       const struct ptl_event *event);
/* What waits of earlier times passes. */
int format_dedup_flush(struct ptl_relogger *relogger);
/* The same for records of metadata, whose body is as it will be written. */
int format_dedup_record(struct ptl_relogger *relogger, const struct ptl_relogger_input *input, uint64_t type,
			const void *body, size_t size);
void format_dedup_free(struct format_dedup *dedup);

/* Writes the record of a stream that may be left out, once it is known to stay. */
int format_relogger_declare_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream);
/* A loss record of an input, with the output's ids and times. */
int format_relogger_pass_loss(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			      const struct ptl_record *record);
/* The metadata of all inputs, streams declared. */
int format_relogger_pass_records(struct ptl_relogger *relogger);
/* One record of an input, through the stages; and a stream, which gets its id of the output. */
int format_relogger_pass_record(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
				const struct ptl_record *record);
int format_relogger_number_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream);
/*
 * A trace that is being written (live.c). All of it until it is over: records, events, streams, and blobs that no callback asks
 * about.
 */
int format_relogger_pass_live(struct ptl_relogger *relogger);
/* The record of one of its streams. */
int format_relogger_tell_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
				const struct ptl_record *record);
void format_relogger_live_free(struct ptl_relogger_input *input);
/* Whether some stage asks for events, or for blobs. */
bool format_relogger_looks_at_events(const struct ptl_relogger *relogger);
/* An event of the input, to the first stage. */
int format_relogger_take_event(void *context, const struct format_merge_place *place, const struct ptl_event *event);
/* All events, merged, through the stages; or their buffers as they are. */
int format_relogger_pass_events(struct ptl_relogger *relogger);
/* PT, TRUTH, unknown kinds. */
int format_relogger_pass_streams(struct ptl_relogger *relogger);
/* One stream, as it is; plan may be NULL. */
int format_relogger_copy_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
				const struct ptl_stream_plan *plan);
/*
 * One buffer as it is, or compressed again; what of it is damaged is left out. look, which may be NULL, sees the bytes
 * of the file with input as its context.
 */
int format_relogger_copy_buffer(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
				size_t entry,
				int (*look)(void *context, uint64_t offset, const uint8_t *data, size_t size));
/* Says which inputs are `whole`, before their hashes are started. PTL_NO_MEMORY. */
int format_relogger_find_whole(struct ptl_relogger *relogger);
/* All streams of such an input, events too, in the order of its file. */
int format_relogger_copy_whole(struct ptl_relogger *relogger, struct ptl_relogger_input *input);
/* Hashes what was not copied of an input that has a hash under way, and puts the hash into input->itself. */
int format_relogger_finish_whole(struct ptl_relogger_input *input);
int format_relogger_pass_blobs(struct ptl_relogger *relogger);
/* One buffer of blobs, as it is; and what it has of one of them. Damage is left out. */
int format_relogger_copy_blobs(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
			       size_t entry);
int format_relogger_copy_piece(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			       const struct ptl_blob_info *blob, const struct format_blob_piece *piece);
/* What of the inputs could not be read becomes loss records. */
int format_relogger_pass_damage(struct ptl_relogger *relogger);
/* Hashes an input into input->itself, in the calling thread. PTL_NO_MEMORY, PTL_SYSTEM, PTL_CANCELLED. */
int format_relogger_hash_input(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			       enum ptl_hash_kind kind);
/* Starts hashing the inputs beside the run. */
void format_relogger_start_hashes(struct ptl_relogger *relogger);
/* Waits for it; after ptl_relogger_cancel soon. */
void format_relogger_stop_hashes(struct ptl_relogger *relogger);
/* Gives every input without an origin one: its own name, size and hash. */
int format_relogger_finish_hashes(struct ptl_relogger *relogger);
/* The step that this run adds, and the machine that counts. */
int format_relogger_finish_records(struct ptl_relogger *relogger);

/* Gives an event to the first stage from `stage` on that looks at events, or to the file. */
int format_relogger_pass(struct ptl_relogger *relogger, size_t stage, const struct ptl_event *event,
			 struct ptl_relogger_input *input);
/* Adds an event that is out of order. PTL_MISUSE beyond the bounds. */
int format_window_add(struct ptl_relogger *relogger, const struct ptl_event *event);
/* Writes all that waits and is not later than this. */
int format_window_flush(struct ptl_relogger *relogger, uint64_t until);
void format_window_free(struct format_window *window);

#endif
