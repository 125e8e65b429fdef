/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rewriting traces, as ITraceRelogger of Windows does: inputs are read, callbacks see each event and may change,
 * drop or add, and what comes out is a whole trace again.
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
 * Doing nothing in the event callback drops the event; ptl_relogger_inject(relogger, event) keeps it.
 *
 * STAGES. ptl_relogger_callbacks may be called several times: each set of callbacks is a stage, and sees what the
 * stages before it let through or added. The last stage's output is the file.
 *
 * WHAT A RUN DOES, in this order:
 *	1. begin of each stage, in order;
 *	2. records: the metadata of each input (schemas, losses, provenance, unknown types), to `record`;
 *	3. events of all inputs, merged by time, to `event`; skipped, with the buffers copied as they are, where
 *	   no stage has an event callback;
 *	4. streams: PT, TRUTH and unknown kinds, to `stream`, which says what of them is kept;
 *	5. end of each stage, in order: the last place where events can be injected;
 *	6. blobs: code, symbols, debug information, to `blob`.
 * So what a stage learns from events is known when it decides about PT and blobs. A stage that has to know the
 * whole trace before the first event reads it in `begin`: ptl_relogger_input_trace gives the open input, and
 * ptl_process may be run on it as often as is wanted (it shows the input as it is, with the input's own clock and
 * ids, without what other stages change). Inputs are always files: pipes are spooled.
 *
 * LIVE. An input of ptl_relogger_add_realtime passes while it is written: after `begin`, records go to `record` and events to
 * `event` as they come, about half a second later, so that `record` is called between events, too. `stream` is called
 * when a stream is first seen, and may be called again while it is dropped; it may keep it or drop it, but not choose ranges of it. `end` and `blob` come when the trace is over;
 * where no stage has a `blob`, blobs are copied as they come. In `begin`, the trace has little more than its machine.
 *
 * ONE CLOCK. Every time that callbacks see or set is in nanoseconds of the output's clock, which is that of the first
 * input. Inputs of the same machine and boot with the same kind of clock share it; the times of others are shifted
 * by wall clock (struct ptl_relogger_input_info says by how much, and how sure that is).
 *
 * ORDER. Events may be injected with any time. Those that keep the order of the stream they go to are written at once.
 * The others wait in a window, which is bounded (struct ptl_relogger_options); an event that would have to be
 * written before one that has left the window is an error, and PTL_MISUSE.
 *
 * What no callback asks for passes as it is: records and buffers of kinds that this version does not know too.
 * Buffers are copied without being decompressed, their checksums are verified. Event buffers are decoded only when
 * a stage has an event callback.
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
struct ptl_relogger_input; /* what a TRACEHANDLE stands for */
struct ptl_trace_event;    /* ITraceEvent: an event that can be changed */

struct ptl_relogger_options {
	size_t size;             /* sizeof(struct ptl_relogger_options) */
	int level;               /* zstd level of what is written again; 0: the default */
	unsigned threads;        /* compression workers beside the caller; 0 compresses in the caller */
	size_t memory_limit;     /* bytes for buffers, of reading and writing together; 0: the default (160 MiB) */
	enum ptl_hash_kind hash; /* of the inputs, for provenance; SHA-256 can take longer than copying them */
	bool sync; /* the output is on disk before it has its name; where it replaces a file it always is */
	uint32_t max_expansion; /* of the inputs' buffers of events: struct ptl_open_options; 0: the default */
	/* The reorder window: what of it may wait. 0: the default. */
	size_t window_events; /* 65536 */
	size_t window_bytes;  /* of payloads and extended items; 32 MiB */
	uint64_t window_time; /* ns: how long before the current event an injected one may be; 0: any time */
	/* Each may be NULL. Texts live until the call returns. */
	void (*warning)(void *context, const char *text);
	/* Bytes of the inputs, roughly. Called many times a second while an input that is being written is waited for. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *context; /* of these two */
};

/* options may be NULL. PTL_NO_MEMORY. */
int ptl_relogger_new(const struct ptl_relogger_options *options, struct ptl_relogger **relogger);
/* Closes the inputs; an output that was not finished is removed. NULL is allowed. */
void ptl_relogger_free(struct ptl_relogger *relogger);

/* --- inputs --------------------------------------------------------------------------------------- */

/*
 * ITraceRelogger::AddLogfileTraceStream. Adds a trace file; "-" is standard input. context is the caller's, for
 * ptl_event_context. The file is taken as it is now, even if it is still being written. input may be NULL.
 * What ptl_open returns; PTL_MISUSE after process has begun.
 */
int ptl_relogger_add_file(struct ptl_relogger *relogger, const char *path, void *context,
			  struct ptl_relogger_input **input);
/*
 * Adds a trace that comes through a file descriptor, which is taken over on
 * success: a pipe or socket that a recorder writes into (read to its end before this returns), or a file. With
 * follow, a file that is still being written is waited for until its writer has closed it, or until
 * ptl_relogger_cancel. name is for messages and provenance.
 */
int ptl_relogger_add_fd(struct ptl_relogger *relogger, int fd, const char *name, bool follow, void *context,
			struct ptl_relogger_input **input);
/*
 * ITraceRelogger::AddRealtimeTraceStream. Adds a trace that is still being written, as the only input: a file that grows, or a
 * pipe or socket, which is taken over on success. Returns when the trace's machine is known. ptl_relogger_process then does
 * its work as the trace comes: the output has its name at once, grows, can be read up to its break, and stays if the run fails. It
 * ends as the output of the whole trace would be. See LIVE above; and ptl_relogger_stop. As ptl_open_realtime; PTL_CANCELLED.
 */
int ptl_relogger_add_realtime(struct ptl_relogger *relogger, int fd, const char *name, void *context,
			      struct ptl_relogger_input **input);
/*
 * For an input that was made of other files (raw PT, perf.data): provenance names these instead. May be called
 * several times; the name is copied. PTL_NO_MEMORY.
 */
int ptl_relogger_input_origin(struct ptl_relogger_input *input, const struct ptl_provenance_input *origin);

/*
 * Names what the streams of an input come from, where its file has just been made of another one: then parts of two such
 * files are known to be of one recording. Without it that is the file's own GUID.
 */
void ptl_relogger_input_identity(struct ptl_relogger_input *input, const uint8_t identity[16]);

size_t ptl_relogger_input_count(const struct ptl_relogger *relogger);
struct ptl_relogger_input *ptl_relogger_input_at(const struct ptl_relogger *relogger, size_t i); /* NULL: no such */
/* The open trace; its damage list tells what could not be read. Lives until ptl_relogger_free. */
struct ptl_trace *ptl_relogger_input_trace(const struct ptl_relogger_input *input);

/* What became of an input; valid from `begin` on. */
struct ptl_relogger_input_info {
	const char *name;
	void *context;
	uint32_t machine;     /* index among the machines of the output; 0: that of the first input */
	int64_t time_shift;   /* nanoseconds that are added to its times */
	uint64_t uncertainty; /* of the shift, nanoseconds; 0 where the clock is shared */
	size_t losses;        /* pieces of damage that became loss records; complete after process */
};
void ptl_relogger_input_info(const struct ptl_relogger_input *input, struct ptl_relogger_input_info *info);

/*
 * What a stage reads in an input itself (in `begin`, or in `record` and `stream`) has the input's own ids; in the
 * output, those of other machines are others. Valid from `begin` on.
 */
/* Makes the id of a process, thread or CPU of an input that of the output. PTL_UNSUPPORTED: too large. */
int ptl_relogger_map_id(const struct ptl_relogger_input *input, uint32_t *id);
/* The same for all ids of an event; its payload is then in memory of the input, until the next call. As above, and
 * PTL_NO_MEMORY. */
int ptl_relogger_map_event(struct ptl_relogger_input *input, struct ptl_event *event);
/* The id of a stream in the output, known when records have passed; PTL_NO_ID: none. */
uint32_t ptl_relogger_map_stream(const struct ptl_relogger_input *input, uint32_t id);

/* --- output --------------------------------------------------------------------------------------- */

/*
 * ITraceRelogger::SetOutputFilename. The file appears whole at the end of ptl_relogger_process, or not at all.
 * PTL_SYSTEM (it exists and force is false, ...), PTL_MISUSE (a second output).
 */
int ptl_relogger_output(struct ptl_relogger *relogger, const char *path, bool force);
/* The same for a descriptor, which may be a pipe; taken over on success. */
int ptl_relogger_output_fd(struct ptl_relogger *relogger, int fd);
/*
 * ITraceRelogger::SetCompressionMode. Every buffer is compressed again with this zstd level (1 to 19; 0: stored
 * uncompressed), instead of being copied as it is. PTL_MISUSE.
 */
int ptl_relogger_recompress(struct ptl_relogger *relogger, int level);
/*
 * The step that is added to the trace's history: tool, version, command and rules of *step are copied, its time and
 * inputs are filled in. Without this call the tool is "libptl". PTL_NO_MEMORY.
 */
int ptl_relogger_provenance(struct ptl_relogger *relogger, const struct ptl_provenance *step);
/*
 * Adds a line to what that step says of rules that matched nothing; for the callback `end`. Of more than 64 KiB the rest
 * is left out. PTL_NO_MEMORY.
 */
int ptl_relogger_unmatched(struct ptl_relogger *relogger, const char *rule);

/* --- callbacks ------------------------------------------------------------------------------------ */

/* Which bytes of a PT or TRUTH stream (or one of unknown kind) are kept. */
struct ptl_stream_range {
	uint64_t first; /* position in the stream, inclusive */
	uint64_t end;   /* exclusive; UINT64_MAX: to the end */
};

/*
 * What becomes of a stream. A range should start at a PSB (ptl_psb_index): from there on it can be decoded. What lies
 * between kept ranges becomes a hole, and what lies before the first one is gone: positions start again at 0.
 */
struct ptl_stream_plan {
	bool drop; /* initially false */
	const struct ptl_stream_range
		*ranges; /* initially NULL: all; ascending, the callback's until it is called again */
	size_t range_count;
};

/* ITraceEventCallback, and more. Each may be NULL. A result other than 0 ends the run, which returns it. */
struct ptl_relogger_callbacks {
	size_t size; /* sizeof(struct ptl_relogger_callbacks) */
	/* OnBeginProcessTrace. Everything that adds (inject, schema, blob, loss, ...) may be called from here on. */
	int (*begin)(void *context, struct ptl_relogger *relogger);
	/* OnEvent. event is the relogger's, and valid until the callback returns; it may be changed and injected. */
	int (*event)(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event);
	/*
	 * A metadata record other than stream records. With *keep = false it is left out; what replaces it is given
	 * with ptl_relogger_machine, _schema, _loss, _provenance or _record.
	 */
	int (*record)(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		      const struct ptl_record *record, bool *keep);
	/* A PT, TRUTH or unknown stream of an input, with the input's ids. Only ever narrowed by later stages. */
	int (*stream)(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		      const struct ptl_stream *stream, struct ptl_stream_plan *plan);
	/* OnFinalizeProcessTrace. Events may still be injected; adding ends with it. */
	int (*end)(void *context, struct ptl_relogger *relogger);
	/* A blob of an input, asked once for each hash. Later stages are not asked about what an earlier one dropped. */
	int (*blob)(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		    const struct ptl_blob_info *blob, bool *keep);
};

/*
 * ITraceRelogger::RegisterCallback. Adds a stage behind those that are there; callbacks are copied.
 * PTL_NO_MEMORY, PTL_MISUSE after process has begun.
 */
int ptl_relogger_callbacks(struct ptl_relogger *relogger, const struct ptl_relogger_callbacks *callbacks,
			   void *context);

/*
 * ITraceRelogger::ProcessTrace. Does it all, once. 0: the output is there. Else nothing is: what a callback returned,
 * PTL_CANCELLED, PTL_MISUSE (no input or output, an input is the output, callbacks that broke a rule), PTL_CORRUPT
 * and so on for inputs, PTL_SYSTEM, PTL_NO_MEMORY. Damage in inputs is no failure: it becomes loss records.
 */
int ptl_relogger_process(struct ptl_relogger *relogger);
/*
 * Of an input that is being written, takes what has come as all of it, and goes on to the end. From any thread, callback or
 * signal handler.
 */
void ptl_relogger_stop(struct ptl_relogger *relogger);
/* ITraceRelogger::Cancel. From any thread, callback or signal handler: process ends soon, with PTL_CANCELLED. */
void ptl_relogger_cancel(struct ptl_relogger *relogger);

/* --- adding; from within callbacks only ------------------------------------------------------------ */

/*
 * ITraceRelogger::Inject. Passes an event on to the next stage, or into the file; as it is now, so that it may be
 * changed and injected again. Called for the callback's own event it is the one line that copies it. PTL_MISUSE
 * for an event that comes too late for the window, or is beyond the format's bounds; PTL_NO_MEMORY, PTL_SYSTEM.
 */
int ptl_relogger_inject(struct ptl_relogger *relogger, struct ptl_trace_event *event);
/* The same for a plain event, whose memory stays the caller's. It gets the flag PTL_EVENT_INJECTED. */
int ptl_relogger_inject_record(struct ptl_relogger *relogger, const struct ptl_event *event);
/* As the functions of ptl/writer.h. A machine given here replaces that of the first input. */
int ptl_relogger_machine(struct ptl_relogger *relogger, const struct ptl_machine *machine);
int ptl_relogger_schema(struct ptl_relogger *relogger, const struct ptl_schema *schema);
int ptl_relogger_loss(struct ptl_relogger *relogger, const struct ptl_loss *loss);
/* A step of the history beside the run's own one, in place of one that `record` left out. */
int ptl_relogger_add_provenance(struct ptl_relogger *relogger, const struct ptl_provenance *step);
int ptl_relogger_record(struct ptl_relogger *relogger, uint64_t type, const void *body, size_t size);
/* Content-addressed: equal bytes are stored once, whatever their source. `blob` callbacks are not asked about them. */
int ptl_relogger_blob(struct ptl_relogger *relogger, uint32_t type, const void *data, size_t size,
		      uint8_t hash[PTL_HASH_SIZE]);
/* The same for bytes of a file, as ptl_writer_blob_file. */
int ptl_relogger_blob_file(struct ptl_relogger *relogger, uint32_t type, int fd, uint64_t offset, uint64_t size,
			   uint8_t hash[PTL_HASH_SIZE]);

/*
 * PARTS OF ONE RECORDING. Every output says of each stream which bytes of which stream of which recording it holds.
 * Where inputs have some of them in common, these are written once, and so are their equal events. A stage that cuts by time
 * says which times it has kept, so that rundown at its borders can be left out where another input has the same:
 */
struct ptl_cut {
	size_t size;          /* sizeof(struct ptl_cut) */
	uint64_t first, last; /* times that were kept, both inclusive */
	uint64_t known; /* from here on processes, threads and images are kept; rundown is at known - 1; 0: none */
	uint64_t events, bytes; /* that were left out */
};
/*
 * What was cut; from `begin` to `end`, the last call counts. A loss of the kind PTL_LOSS_CUT reports it. Rundown of the
 * end, if any, has the time last + 1.
 */
int ptl_relogger_cut(struct ptl_relogger *relogger, const struct ptl_cut *cut);
/*
 * What distinguishes the events that this run writes from those that it reads, beside a cut by time: rules, a choice
 * of processes. Only traces that were made with the same data are parts of one recording; size 0: the events
 * stay what they are. Without this call, and with an event callback, the output is part of none. Before process;
 * PTL_MISUSE.
 */
int ptl_relogger_change(struct ptl_relogger *relogger, const void *data, size_t size);

struct ptl_relogger_counts {
	uint64_t events_read;
	uint64_t events_written;
	uint64_t buffers_copied; /* as they were, without being decompressed */
	uint64_t buffers_decoded;
	uint64_t events_shared; /* events that several inputs have, each written once */
	uint64_t blobs_shared;  /* blobs that several inputs have, each stored once */
};
void ptl_relogger_counts(const struct ptl_relogger *relogger, struct ptl_relogger_counts *counts);

/* --- events: ITraceEvent --------------------------------------------------------------------------- */

/*
 * ITraceRelogger::CreateEventInstance. A new event, flagged as injected, with the time of the current event (the
 * start of the capture outside of event callbacks), no CPU, process or thread, and no payload. input says whose
 * clock and machine it belongs to; NULL: the first one. PTL_NO_MEMORY.
 */
int ptl_event_new(struct ptl_relogger *relogger, struct ptl_relogger_input *input, struct ptl_trace_event **event);
/* ITraceEvent::Clone. A copy with memory of its own, flagged as injected. */
int ptl_event_clone(const struct ptl_trace_event *event, struct ptl_trace_event **copy);
/* For what ptl_event_new and ptl_event_clone gave; NULL is allowed. */
void ptl_event_free(struct ptl_trace_event *event);
/* ITraceEvent::GetUserContext: the context that the event's input was added with. */
void *ptl_event_context(const struct ptl_trace_event *event);
struct ptl_relogger_input *ptl_event_input(const struct ptl_trace_event *event);
/* ITraceEvent::GetEventRecord: the event as it is now. Valid until it is changed, freed, or its callback returns. */
const struct ptl_event *ptl_event_record(const struct ptl_trace_event *event);
/*
 * Setters. Payload and extended items are copied (PTL_NO_MEMORY; PTL_MISUSE beyond the format's bounds).
 */
void ptl_event_set_descriptor(struct ptl_trace_event *event, const struct ptl_descriptor *descriptor);
void ptl_event_set_provider(struct ptl_trace_event *event, const struct ptl_guid *provider);
int ptl_event_set_payload(struct ptl_trace_event *event, const void *data, size_t size);
void ptl_event_set_pid(struct ptl_trace_event *event, uint32_t pid);
void ptl_event_set_tid(struct ptl_trace_event *event, uint32_t tid);
void ptl_event_set_cpu(struct ptl_trace_event *event, uint32_t cpu);
void ptl_event_set_time(struct ptl_trace_event *event, uint64_t time); /* nanoseconds of the output's clock */
/* NULL: none. */
void ptl_event_set_activity(struct ptl_trace_event *event, const struct ptl_guid *activity);
void ptl_event_set_related(struct ptl_trace_event *event, const struct ptl_guid *related);
/*
 * ITraceEvent::SetThreadTimes: the kernel and user time of the event's thread until the event, in nanoseconds; the extended
 * item PTL_EXTENDED_THREAD_TIMES. Two zeros remove it. ptl_event_thread_times reads it; false: the event has none.
 */
int ptl_event_set_thread_times(struct ptl_trace_event *event, uint64_t kernel, uint64_t user);
bool ptl_event_thread_times(const struct ptl_event *event, uint64_t *kernel, uint64_t *user);
int ptl_event_set_extended(struct ptl_trace_event *event, const struct ptl_extended *items, size_t count);

#ifdef __cplusplus
}
#endif

#endif
