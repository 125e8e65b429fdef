/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rewrites traces, like ITraceRelogger of Windows: reads inputs, shows each event to callbacks that may change, drop or
 * add events, and writes a complete trace.
 *
 *	ptl_relogger_new(NULL, &relogger);
 *	ptl_relogger_add_file(relogger, "in.ptl", NULL, NULL);
 *	ptl_relogger_output(relogger, "out.ptl", false);
 *	ptl_relogger_callbacks(relogger, &callbacks, &mine);
 *	status = ptl_relogger_process(relogger);
 *	ptl_relogger_free(relogger);
 *
 * with an event callback such as
 *
 *	static int event(void *mine, struct ptl_relogger *relogger, struct ptl_trace_event *event)
 *	{
 *		return is_wanted(mine, ptl_event_record(event)) ? ptl_relogger_inject(relogger, event) : 0;
 *	}
 *
 * An event callback that does nothing drops the event; ptl_relogger_inject(relogger, event) keeps the event.
 *
 * STAGES. ptl_relogger_callbacks may be called several times. Each set of callbacks is a stage. A stage sees the events
 * that the preceding stages passed or added. The output of the last stage is the file.
 *
 * STEPS OF A RUN, in this order:
 *	1. begin of each stage, in order;
 *	2. records: the metadata of each input (schemas, losses, provenance, unknown types), to `record`;
 *	3. events of all inputs, merged by time, to `event`; if no stage has an event callback, this step is
 *	   skipped and event buffers are copied unchanged;
 *	4. streams: PT, TRUTH and unknown kinds, to `stream`, which decides which bytes are kept;
 *	5. end of each stage, in order: the last opportunity to inject events;
 *	6. blobs: code, symbols, debug information, to `blob`.
 * So a stage has seen all events when it decides about PT and blobs. A stage that needs the whole trace before the
 * first event can read the trace in `begin`: ptl_relogger_input_trace returns the open input, and ptl_process may be
 * run on the input repeatedly. The input then appears unchanged, with its own clock and ids, without changes by stages.
 * Inputs are always files: pipes are copied to temporary files.
 *
 * LIVE. An input of ptl_relogger_add_realtime is processed while it is written. After `begin`, records go to `record`
 * and events to `event` as they arrive, with a delay of about half a second, so `record` is also called between events.
 * `stream` is called when a stream is first seen, and possibly again while the stream is dropped; `stream` may keep or
 * drop the stream, but not choose ranges. `end` and `blob` are called when the trace is over; if no stage has `blob`,
 * blobs are copied as they arrive. In `begin`, the trace has little more than its machine.
 *
 * ONE CLOCK. All times that callbacks see or set are in nanoseconds of the output's clock, which is the clock of the
 * first input. Inputs of the same machine and boot with the same kind of clock share this clock. Times of other inputs
 * are shifted by wall clock (struct ptl_relogger_input_info has the shift and its uncertainty).
 *
 * ORDER. Events may be injected with any time. An event that keeps the order of its stream is written at once. Other
 * events wait in a bounded window (struct ptl_relogger_options). An event that precedes an event which has already left
 * the window is an error: PTL_MISUSE.
 *
 * Data that no callback handles is copied unchanged, including records and buffers of unknown kinds. Buffers are copied
 * without decompression, after their checksums were verified. Event buffers are decoded only if a stage has an event
 * callback.
 */
#ifndef PTL_RELOGGER_H
#define PTL_RELOGGER_H

#include <ptl/event.h>
#include <ptl/reader.h>
#include <ptl/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ptl_relogger;       /* ITraceRelogger */
struct ptl_relogger_input; /* like a TRACEHANDLE */
struct ptl_trace_event;    /* ITraceEvent: a modifiable event */

struct ptl_relogger_options {
	size_t size;      /* sizeof(struct ptl_relogger_options) */
	int level;        /* zstd level of newly compressed buffers; 0: default */
	unsigned threads; /* compression workers besides the caller; 0: the caller compresses */
	/* limit for the buffers of reading and writing together, in bytes; 0: default (160 MiB) */
	size_t memory_limit;
	enum ptl_hash_kind hash; /* hash of the inputs, for provenance; SHA-256 may take longer than the copying */
	bool sync; /* the output is on disk before it gets its name; always so if the output replaces a file */
	uint32_t max_expansion; /* limit for the inputs' event buffers, see struct ptl_open_options; 0: default */
	/* Limits of the reorder window. 0: default. */
	size_t window_events; /* number of events; default 65536 */
	size_t window_bytes;  /* payloads and extended items, in bytes; default 32 MiB */
	uint64_t window_time; /* ns that an injected event may lie before the current event; 0: unlimited */
	/* Each callback may be NULL. Texts live until the call returns. */
	void (*warning)(void *context, const char *text);
	/*
	 * Progress in bytes of the inputs, approximately. Also called many times a second while waiting for an input
	 * that is being written.
	 */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *context; /* context of these two callbacks */
};

/* Creates a relogger. options may be NULL. PTL_NO_MEMORY. */
int ptl_relogger_new(const struct ptl_relogger_options *options, struct ptl_relogger **relogger);
/* Closes the inputs and removes an unfinished output. NULL is allowed. */
void ptl_relogger_free(struct ptl_relogger *relogger);

/* --- inputs --------------------------------------------------------------------------------------- */

/*
 * ITraceRelogger::AddLogfileTraceStream. Adds a trace file; "-" is standard input. A file that is still being written
 * is read up to its current end. context: the caller's, for ptl_event_context. input may be NULL. Errors as ptl_open;
 * PTL_MISUSE after ptl_relogger_process has begun.
 */
int ptl_relogger_add_file(struct ptl_relogger *relogger, const char *path, void *context,
			  struct ptl_relogger_input **input);
/*
 * Adds a trace from a descriptor, of which the relogger takes ownership on success: a pipe or socket that a recorder
 * writes (read to its end before this function returns), or a file. follow: wait for a file that is still being written
 * until its writer has closed the file, or until ptl_relogger_cancel. name: for messages and provenance.
 */
int ptl_relogger_add_fd(struct ptl_relogger *relogger, int fd, const char *name, bool follow, void *context,
			struct ptl_relogger_input **input);
/*
 * ITraceRelogger::AddRealtimeTraceStream. Adds a trace that is being written, as the only input: a growing file, or a
 * pipe or socket. Takes ownership of fd on success. Returns when the trace's machine is known. ptl_relogger_process
 * then works while the trace arrives: the output has its name from the start, grows, can be read up to its current end,
 * and stays if the run fails. The finished output is the same as for the complete trace. See LIVE above, and
 * ptl_relogger_stop. Errors as ptl_open_realtime; PTL_CANCELLED.
 */
int ptl_relogger_add_realtime(struct ptl_relogger *relogger, int fd, const char *name, void *context,
			      struct ptl_relogger_input **input);
/*
 * Names an original file of an input that was converted from other files (raw PT, perf.data). Provenance then names the
 * original files instead of the input. May be called several times; the name is copied. PTL_NO_MEMORY.
 */
int ptl_relogger_input_origin(struct ptl_relogger_input *input, const struct ptl_provenance_input *origin);

/*
 * Sets the identity of the source of an input's streams, for a file just converted from another file. Then parts of two
 * such files can be recognised as parts of one recording. Default: the file's own GUID.
 */
void ptl_relogger_input_identity(struct ptl_relogger_input *input, const uint8_t identity[16]);

size_t ptl_relogger_input_count(const struct ptl_relogger *relogger);
/* NULL: no such input */
struct ptl_relogger_input *ptl_relogger_input_at(const struct ptl_relogger *relogger, size_t i);
/* Returns the open trace; its damage list has the unreadable data. Lives until ptl_relogger_free. */
struct ptl_trace *ptl_relogger_input_trace(const struct ptl_relogger_input *input);

/* Properties of an input; valid from `begin` on. */
struct ptl_relogger_input_info {
	const char *name;
	void *context;
	uint32_t machine;     /* index among the output's machines; 0: machine of the first input */
	int64_t time_shift;   /* nanoseconds added to the input's times */
	uint64_t uncertainty; /* uncertainty of the shift in nanoseconds; 0 if the clock is shared */
	size_t losses;        /* number of losses recorded for damage; final after ptl_relogger_process */
};
void ptl_relogger_input_info(const struct ptl_relogger_input *input, struct ptl_relogger_input_info *info);

/*
 * A stage that reads an input directly (in `begin`, or in `record` and `stream`) sees the input's own ids. In the
 * output, ids of other machines differ. The following functions convert ids and are valid from `begin` on.
 */
/* Converts the id of a process, thread or CPU of an input to the output's id. PTL_UNSUPPORTED: the id is too large. */
int ptl_relogger_map_id(const struct ptl_relogger_input *input, uint32_t *id);
/*
 * Converts all ids of an event. The event's payload is then in the input's memory, until the next call.
 * PTL_UNSUPPORTED, PTL_NO_MEMORY.
 */
int ptl_relogger_map_event(struct ptl_relogger_input *input, struct ptl_event *event);
/* Converts the id of a stream to the output's id. Valid after the records have passed; PTL_NO_ID: no such stream. */
uint32_t ptl_relogger_map_stream(const struct ptl_relogger_input *input, uint32_t id);

/* --- output --------------------------------------------------------------------------------------- */

/*
 * ITraceRelogger::SetOutputFilename. The file appears whole at the end of ptl_relogger_process, or not at all.
 * PTL_SYSTEM (the file exists and force is false, ...), PTL_MISUSE (a second output).
 */
int ptl_relogger_output(struct ptl_relogger *relogger, const char *path, bool force);
/* As ptl_relogger_output, for a descriptor, which may be a pipe. Takes ownership of fd on success. */
int ptl_relogger_output_fd(struct ptl_relogger *relogger, int fd);
/*
 * ITraceRelogger::SetCompressionMode. Recompresses every buffer with this zstd level (1 to 19; 0: uncompressed) instead
 * of copying buffers unchanged. PTL_MISUSE.
 */
int ptl_relogger_recompress(struct ptl_relogger *relogger, int level);
/*
 * Sets the step added to the trace's history. Copies tool, version, command and rules of *step; time and inputs are
 * filled in. Without this call, the tool is "libptl". PTL_NO_MEMORY.
 */
int ptl_relogger_provenance(struct ptl_relogger *relogger, const struct ptl_provenance *step);
/*
 * Adds a line to the step's list of rules that matched nothing; for the callback `end`. Lines beyond 64 KiB are
 * dropped. PTL_NO_MEMORY.
 */
int ptl_relogger_unmatched(struct ptl_relogger *relogger, const char *rule);

/* --- callbacks ------------------------------------------------------------------------------------ */

/* A range of kept bytes of a PT or TRUTH stream, or a stream of unknown kind. */
struct ptl_stream_range {
	uint64_t first; /* position in the stream, inclusive */
	uint64_t end;   /* exclusive; UINT64_MAX: to the end */
};

/*
 * What is kept of a stream. A range should start at a PSB (ptl_psb_index), where decoding can begin. Bytes between kept
 * ranges become a hole. Bytes before the first range are removed: positions start again at 0.
 */
struct ptl_stream_plan {
	bool drop; /* initially false */
	const struct ptl_stream_range
		/* initially NULL: everything; else ascending, owned by the callback and valid until its next call */
		*ranges;
	size_t range_count;
};

/*
 * ITraceEventCallback, extended. Each callback may be NULL. A result other than 0 ends the run, which returns the
 * result.
 */
struct ptl_relogger_callbacks {
	size_t size; /* sizeof(struct ptl_relogger_callbacks) */
	/* OnBeginProcessTrace. All adding functions (inject, schema, blob, loss, ...) may be called from here on. */
	int (*begin)(void *context, struct ptl_relogger *relogger);
	/*
	 * OnEvent. The relogger owns `event`, which is valid until the callback returns. The event may be changed and
	 * injected.
	 */
	int (*event)(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event);
	/*
	 * A metadata record other than a stream record. *keep = false drops the record; a replacement is added by
	 * ptl_relogger_machine, _schema, _loss, _add_provenance or _record.
	 */
	int (*record)(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		      const struct ptl_record *record, bool *keep);
	/* A PT, TRUTH or unknown stream of an input, with the input's ids. Later stages can only narrow the plan. */
	int (*stream)(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		      const struct ptl_stream *stream, struct ptl_stream_plan *plan);
	/* OnFinalizeProcessTrace. The last callback in which events may be injected. */
	int (*end)(void *context, struct ptl_relogger *relogger);
	/* A blob of an input; called once per hash. Not called for blobs that an earlier stage dropped. */
	int (*blob)(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		    const struct ptl_blob_info *blob, bool *keep);
};

/*
 * ITraceRelogger::RegisterCallback. Adds a stage after the existing stages; *callbacks is copied. PTL_NO_MEMORY;
 * PTL_MISUSE after ptl_relogger_process has begun.
 */
int ptl_relogger_callbacks(struct ptl_relogger *relogger, const struct ptl_relogger_callbacks *callbacks,
			   void *context);

/*
 * ITraceRelogger::ProcessTrace. Runs the relogger, once. Returns 0 if the output is complete; otherwise no output
 * exists. Errors: a callback's result, PTL_CANCELLED, PTL_MISUSE (no input or output, an input is the output, a
 * callback violated a rule), PTL_CORRUPT and so on for inputs, PTL_SYSTEM, PTL_NO_MEMORY. Damage in inputs is no
 * failure and becomes loss records.
 */
int ptl_relogger_process(struct ptl_relogger *relogger);
/*
 * Stops waiting for an input that is being written: the data so far counts as the whole input, and the run continues to
 * its end. Callable from any thread, callback or signal handler.
 */
void ptl_relogger_stop(struct ptl_relogger *relogger);
/*
 * ITraceRelogger::Cancel. Makes ptl_relogger_process end soon, with PTL_CANCELLED. Callable from any thread, callback
 * or signal handler.
 */
void ptl_relogger_cancel(struct ptl_relogger *relogger);

/* --- adding data; only from within callbacks --------------------------------------------------------- */

/*
 * ITraceRelogger::Inject. Passes an event in its current state to the next stage, or writes the event to the file; the
 * event may then be changed and injected again. PTL_MISUSE: the event is too late for the window, or exceeds the
 * format's limits; PTL_NO_MEMORY, PTL_SYSTEM.
 */
int ptl_relogger_inject(struct ptl_relogger *relogger, struct ptl_trace_event *event);
/*
 * As ptl_relogger_inject, for a plain event, whose memory the caller owns. The event gets the flag PTL_EVENT_INJECTED.
 */
int ptl_relogger_inject_record(struct ptl_relogger *relogger, const struct ptl_event *event);
/* As the corresponding functions of ptl/writer.h. A machine given here replaces the machine of the first input. */
int ptl_relogger_machine(struct ptl_relogger *relogger, const struct ptl_machine *machine);
int ptl_relogger_schema(struct ptl_relogger *relogger, const struct ptl_schema *schema);
int ptl_relogger_loss(struct ptl_relogger *relogger, const struct ptl_loss *loss);
/* Adds a step to the history, besides the run's own step, to replace a step dropped by `record`. */
int ptl_relogger_add_provenance(struct ptl_relogger *relogger, const struct ptl_provenance *step);
int ptl_relogger_record(struct ptl_relogger *relogger, uint64_t type, const void *body, size_t size);
/*
 * Adds a blob. Content-addressed: equal bytes are stored once, whatever their source. The callback `blob` is not called
 * for added blobs.
 */
int ptl_relogger_blob(struct ptl_relogger *relogger, uint32_t type, const void *data, size_t size,
		      uint8_t hash[PTL_HASH_SIZE]);
/* As ptl_relogger_blob, for bytes of a file, like ptl_writer_blob_file. */
int ptl_relogger_blob_file(struct ptl_relogger *relogger, uint32_t type, int fd, uint64_t offset, uint64_t size,
			   uint8_t hash[PTL_HASH_SIZE]);

/*
 * PARTS OF ONE RECORDING. Every output states for each stream which bytes of which stream of which recording it
 * contains. Bytes and events that several inputs have in common are written once. A stage that cuts by time states the
 * kept times, so that rundown at the borders of a part can be dropped if another input covers the same time.
 */
struct ptl_cut {
	size_t size;          /* sizeof(struct ptl_cut) */
	uint64_t first, last; /* kept times, both inclusive */
	uint64_t known; /* time from which processes, threads and images are kept; rundown is at known - 1; 0: none */
	uint64_t events, bytes; /* number of events and bytes that were dropped */
};
/*
 * States a cut. Callable from `begin` to `end`; the last call counts. A loss of the kind PTL_LOSS_CUT reports the cut.
 * Rundown at the end, if any, has the time last + 1.
 */
int ptl_relogger_cut(struct ptl_relogger *relogger, const struct ptl_cut *cut);
/*
 * Sets data that identifies changes of events besides a cut by time: rules, a selection of processes. Only traces
 * written with equal data are parts of one recording; size 0: the events are unchanged. Without this call, a run with
 * an event callback writes an output that is part of no recording. Call before ptl_relogger_process; PTL_MISUSE.
 */
int ptl_relogger_change(struct ptl_relogger *relogger, const void *data, size_t size);

struct ptl_relogger_counts {
	uint64_t events_read;
	uint64_t events_written;
	uint64_t buffers_copied; /* copied unchanged, without decompression */
	uint64_t buffers_decoded;
	uint64_t events_shared; /* events present in several inputs, each written once */
	uint64_t blobs_shared;  /* blobs present in several inputs, each stored once */
};
void ptl_relogger_counts(const struct ptl_relogger *relogger, struct ptl_relogger_counts *counts);

/* --- events: ITraceEvent --------------------------------------------------------------------------- */

/*
 * ITraceRelogger::CreateEventInstance. Creates an event, flagged as injected, with the time of the current event
 * (outside of event callbacks: the start of the capture), and without CPU, process, thread and payload. input: input
 * whose clock and machine the event belongs to; NULL: the first input. PTL_NO_MEMORY.
 */
int ptl_event_new(struct ptl_relogger *relogger, struct ptl_relogger_input *input, struct ptl_trace_event **event);
/* ITraceEvent::Clone. Creates a copy with its own memory, flagged as injected. */
int ptl_event_clone(const struct ptl_trace_event *event, struct ptl_trace_event **copy);
/* Frees an event from ptl_event_new or ptl_event_clone; NULL is allowed. */
void ptl_event_free(struct ptl_trace_event *event);
/* ITraceEvent::GetUserContext. Returns the context with which the event's input was added. */
void *ptl_event_context(const struct ptl_trace_event *event);
struct ptl_relogger_input *ptl_event_input(const struct ptl_trace_event *event);
/*
 * ITraceEvent::GetEventRecord. Returns the current state of the event; valid until the event is changed or freed, or
 * its callback returns.
 */
const struct ptl_event *ptl_event_record(const struct ptl_trace_event *event);
/* Setters. Payload and extended items are copied. PTL_NO_MEMORY; PTL_MISUSE: the value exceeds the format's limits. */
void ptl_event_set_descriptor(struct ptl_trace_event *event, const struct ptl_descriptor *descriptor);
void ptl_event_set_provider(struct ptl_trace_event *event, const struct ptl_guid *provider);
int ptl_event_set_payload(struct ptl_trace_event *event, const void *data, size_t size);
void ptl_event_set_pid(struct ptl_trace_event *event, uint32_t pid);
void ptl_event_set_tid(struct ptl_trace_event *event, uint32_t tid);
void ptl_event_set_cpu(struct ptl_trace_event *event, uint32_t cpu);
void ptl_event_set_time(struct ptl_trace_event *event, uint64_t time); /* in nanoseconds of the output's clock */
/* activity, related: NULL removes the value. */
void ptl_event_set_activity(struct ptl_trace_event *event, const struct ptl_guid *activity);
void ptl_event_set_related(struct ptl_trace_event *event, const struct ptl_guid *related);
/*
 * ITraceEvent::SetThreadTimes. Sets the kernel time and user time of the event's thread up to the event, in
 * nanoseconds: the extended item PTL_EXTENDED_THREAD_TIMES. Two zeros remove the item. ptl_event_thread_times reads the
 * item; false if the event has none.
 */
int ptl_event_set_thread_times(struct ptl_trace_event *event, uint64_t kernel, uint64_t user);
bool ptl_event_thread_times(const struct ptl_event *event, uint64_t *kernel, uint64_t *user);
int ptl_event_set_extended(struct ptl_trace_event *event, const struct ptl_extended *items, size_t count);

#ifdef __cplusplus
}
#endif

#endif
