/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading a trace file: ETW's open, process, close; and random access to streams, PSBs and blobs. */
#ifndef PTL_READER_H
#define PTL_READER_H

#include <ptl/event.h>
#include <ptl/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ptl_trace;

struct ptl_open_options {
	size_t size;         /* sizeof(struct ptl_open_options) */
	bool ignore_index;   /* rebuild it by scanning, as for a file without one */
	size_t memory_limit; /* bytes that decompressed buffers may take together; 0 means the default (64 MiB) */
	bool huge_pages;     /* up to 8 MiB of them may lie in huge pages: faster, for who has few traces open */
	/*
	 * A compressed buffer of events that is more than this many times as large as it lies in the file is damage. 0 means
	 * the default (256, six times what recordings reach), UINT32_MAX any size. A blob of more than 64 MiB that is so many
	 * times as large as the file is damage to ptl_blob_read and ptl_blob_read_into.
	 */
	uint32_t max_expansion;
};

/* Damage and absence that the reader met: never silent. */
struct ptl_damage {
	uint64_t offset;  /* in the file */
	uint64_t size;    /* bytes skipped; 0 where nothing was skipped */
	int status;       /* PTL_CORRUPT, PTL_TRUNCATED, PTL_UNSUPPORTED */
	uint32_t stream;  /* PTL_NO_ID: unknown */
	const char *text; /* "buffer of stream 3, sequence 7: payload checksum differs" */
};

/*
 * Opens a trace; "-" is standard input. What cannot be sought (a pipe) is spooled to an unlinked temporary
 * file in $TMPDIR. A damaged file opens as long as its header is there; ask ptl_damage_* what is missing.
 * options may be NULL. PTL_NOT_OURS, PTL_UNSUPPORTED (newer major version), PTL_TRUNCATED, PTL_CORRUPT,
 * PTL_NO_MEMORY, PTL_SYSTEM. All functions that only read a ptl_trace may be called from several threads.
 */
int ptl_open(const char *path, const struct ptl_open_options *options, struct ptl_trace **trace);
/* Takes over fd on success. name is for messages. */
int ptl_open_fd(int fd, const char *name, const struct ptl_open_options *options, struct ptl_trace **trace);
void ptl_close(struct ptl_trace *trace);
/* Whether an open regular file ends as a trace does that its writer has closed: nothing more is to come. */
bool ptl_is_closed(int fd);

/* Structures below live until ptl_close. */
const struct ptl_machine *ptl_trace_machine(const struct ptl_trace *trace); /* never NULL; zeroed if absent */
/*
 * The machines of a merged trace, by index: 0 is ptl_trace_machine. NULL: the file has no machine of this index. The
 * count is the highest index plus one.
 */
size_t ptl_machine_count(const struct ptl_trace *trace);
const struct ptl_machine *ptl_machine_at(const struct ptl_trace *trace, size_t index);
/* Whose a pid, tid or CPU is; never NULL. */
const struct ptl_machine *ptl_machine_of(const struct ptl_trace *trace, uint32_t id);
void ptl_trace_version(const struct ptl_trace *trace, uint16_t *major, uint16_t *minor);
/* The GUID of the file, and the wall time at which writing it began (nanoseconds since 1970 UTC). */
void ptl_trace_id(const struct ptl_trace *trace, struct ptl_guid *id, int64_t *wall_time);
uint64_t ptl_trace_size(const struct ptl_trace *trace); /* bytes of the file */
bool ptl_trace_complete(const struct ptl_trace *trace); /* the index is there: the writer closed the file */
size_t ptl_stream_count(const struct ptl_trace *trace);
const struct ptl_stream *ptl_stream_at(const struct ptl_trace *trace, size_t i);
const struct ptl_stream *ptl_stream_find(const struct ptl_trace *trace, uint32_t id); /* NULL: none */
size_t ptl_loss_count(const struct ptl_trace *trace);
const struct ptl_loss *ptl_loss_at(const struct ptl_trace *trace, size_t i);
size_t ptl_attachment_count(const struct ptl_trace *trace);
const struct ptl_attachment *ptl_attachment_at(const struct ptl_trace *trace, size_t i);
size_t ptl_provenance_count(const struct ptl_trace *trace);
const struct ptl_provenance *ptl_provenance_at(const struct ptl_trace *trace, size_t i);
size_t ptl_damage_count(const struct ptl_trace *trace);
const struct ptl_damage *ptl_damage_at(const struct ptl_trace *trace, size_t i);
size_t ptl_schema_count(const struct ptl_trace *trace);
const struct ptl_schema *ptl_schema_at(const struct ptl_trace *trace, size_t i);
/* The schema that explains an event's payload; NULL: the file has none, or the event is raw (ptl_event_is_raw). */
const struct ptl_schema *ptl_schema_of(const struct ptl_trace *trace, const struct ptl_event *event);
/* The schema for a descriptor; NULL: none in the file. For an event at hand, ptl_schema_of is right. */
const struct ptl_schema *ptl_schema_find(const struct ptl_trace *trace, const struct ptl_descriptor *descriptor);
size_t ptl_map_count(const struct ptl_trace *trace);
const struct ptl_map *ptl_map_at(const struct ptl_trace *trace, size_t i);
/* The provider's map of this kind and name; NULL: none in the file. */
const struct ptl_map *ptl_map_find(const struct ptl_trace *trace, const struct ptl_guid *provider, uint32_t kind,
				   const char *name);
/* The map that a field of one of the provider's schemas names, whichever kind it is; NULL: none. */
const struct ptl_map *ptl_map_of_field(const struct ptl_trace *trace, const struct ptl_guid *provider,
				       const struct ptl_field *field);

/* --- events ------------------------------------------------------------------------------------- */

struct ptl_callbacks {
	size_t size; /* sizeof(struct ptl_callbacks) */
	/* Each may be NULL. A non-zero result stops the run, which returns it. */
	int (*begin)(void *context, struct ptl_trace *trace);
	int (*event)(void *context, struct ptl_trace *trace, const struct ptl_event *event);
	int (*end)(void *context, struct ptl_trace *trace);
};

struct ptl_event_filter {
	size_t size;         /* sizeof(struct ptl_event_filter) */
	uint64_t first_time; /* inclusive */
	uint64_t last_time;  /* inclusive; 0 means no end */
};

/*
 * Gives all events of all streams merged in order of time (equal times: by stream, then as written).
 * Memory: one buffer per event stream whose turn has come, together at most four times memory_limit; events of buffers
 * beyond that wait in an unnamed file in $TMPDIR (PTL_SYSTEM: it cannot be written). filter may be NULL. Damaged buffers are skipped and listed. May be called again, and
 * from several threads at once.
 */
int ptl_process(struct ptl_trace *trace, const struct ptl_event_filter *filter, const struct ptl_callbacks *callbacks,
		void *context);

/* --- real time ---------------------------------------------------------------------------------- */

struct ptl_realtime_options {
	size_t size;                         /* sizeof(struct ptl_realtime_options) */
	const struct ptl_open_options *open; /* ignore_index means nothing here; NULL: the defaults */
	/*
	 * Nanoseconds that an event waits, once it has been read, for earlier ones of other streams; 0 means the default
	 * (450 ms, a little more than ptl-record leaves events in a partial buffer). An event that comes later still is given
	 * late.
	 */
	uint64_t delay;
	/*
	 * Called many times a second while a function waits for more; a result other than 0 ends that function, which returns
	 * it. May be NULL. trace is NULL while ptl_process_session waits for the answer of a recorder.
	 */
	int (*idle)(void *context, struct ptl_trace *trace);
	void *context;
};

/*
 * Opens a trace that is being written, as OpenTrace does with PROCESS_TRACE_MODE_REAL_TIME: a file that grows, or a pipe
 * ("-" is standard input). Waits until the trace's machine is known. ptl_process then gives events as they come, and returns
 * when the trace is over: its writer has closed it, or is gone. What is given, and what the functions above return, may
 * change whenever a function waits: pointers to streams do not outlive that. Only one thread may use the trace. The end of a
 * file that grows is not damage; what is missing once its writer is gone is. A call of ptl_process from within a callback
 * gives the events that are there by then.
 *
 * options may be NULL. As ptl_open; a file that is empty so far is waited for.
 */
int ptl_open_realtime(const char *path, const struct ptl_realtime_options *options, struct ptl_trace **trace);
/* Takes over fd on success. */
int ptl_open_realtime_fd(int fd, const char *name, const struct ptl_realtime_options *options,
			 struct ptl_trace **trace);
/*
 * The events of a named session of ptl-record, of this user's, while it goes on: as ptl_process gives those of a file that was opened with
 * ptl_open_realtime, of all the files that the session writes one after the other, and nothing twice that two of them have. begin and
 * end are called for each file, with its trace, which is closed then; the filter is for each file, too. Returns when the session is
 * over and what is left of its files was read, or what a callback returned. *missed, which may be NULL, counts events of files that were gone
 * before they could be read: the session does not wait. PTL_TRUNCATED: the session was killed; what it has left in files was given, and what
 * it recorded last may be missing, and is not counted. PTL_NOT_FOUND: there is no such session; as ptl_open_realtime and ptl_process.
 *
 * A recorder that is stopped (SIGSTOP), or hangs, is waited for without bound, in the first call and between two files, until it answers or
 * is gone, or idle ends that: without an idle, nothing else does, signals neither.
 */
int ptl_process_session(const char *session, const struct ptl_realtime_options *options,
			const struct ptl_event_filter *filter, const struct ptl_callbacks *callbacks, void *context,
			uint64_t *missed);

/*
 * For who reads streams and not events: waits, at most this many nanoseconds, for something to be added to the trace. *more:
 * that is so, or the trace is over now. 0; what idle returned; PTL_MISUSE (no trace opened so), PTL_NO_MEMORY, PTL_SYSTEM.
 */
int ptl_realtime_wait(struct ptl_trace *trace, uint64_t timeout, bool *more);
/*
 * Up to which time of its clock the trace is there, as far as the delay is enough; 0: that is not known yet, UINT64_MAX: it is
 * over.
 */
uint64_t ptl_realtime_horizon(const struct ptl_trace *trace);
/* Nothing more is to come. */
bool ptl_realtime_over(const struct ptl_trace *trace);

/* --- bytes of PT and TRUTH streams -------------------------------------------------------------- */

/*
 * Copies size bytes at offset of the stream. *read is what is there before the stream's end or the next
 * hole (lost or damaged buffer); a hole at offset itself gives *read = 0 and *hole = its size (0 at the
 * end of the stream). PTL_SYSTEM, PTL_NO_MEMORY, PTL_MISUSE (no such stream).
 */
int ptl_stream_read(struct ptl_trace *trace, uint32_t stream, uint64_t offset, void *data, size_t size, size_t *read,
		    uint64_t *hole);

/*
 * Decompresses a buffer of the stream before it is read, so that a thread that has nothing else to do can help one that is
 * about to read: the n-th behind the one that has the byte at offset, if it begins before end. What cannot be read is reported
 * when it is read.
 */
void ptl_stream_read_ahead(struct ptl_trace *trace, uint32_t stream, uint64_t offset, uint64_t end, size_t n);

struct ptl_psb {
	uint64_t offset; /* in the stream */
	uint64_t time;   /* trace clock; 0 unknown */
};

/*
 * The index of PSBs of a PT stream, in order; built by a search through its bytes where the file has none (times
 * are then 0). Lives until ptl_close. PTL_MISUSE (no PT stream), PTL_NO_MEMORY, PTL_SYSTEM.
 */
int ptl_psb_index(struct ptl_trace *trace, uint32_t stream, const struct ptl_psb **psbs, size_t *count);

/* --- blobs -------------------------------------------------------------------------------------- */

struct ptl_blob_info {
	uint8_t hash[PTL_HASH_SIZE];
	uint32_t type;
	uint64_t size;
	uint64_t stored; /* bytes it takes in the file */
};

size_t ptl_blob_count(const struct ptl_trace *trace);
const struct ptl_blob_info *ptl_blob_at(const struct ptl_trace *trace, size_t i);
/* The number of the blob of this hash, for ptl_blob_at; PTL_NO_ID: there is none. */
uint32_t ptl_blob_number(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE]);
const struct ptl_blob_info *ptl_blob_find(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE]);
/*
 * The whole blob in fresh memory (caller frees), its hash verified. PTL_NOT_FOUND, PTL_CORRUPT,
 * PTL_NO_MEMORY (also for a blob beyond limit bytes).
 */
int ptl_blob_read(struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], size_t limit, uint8_t **data,
		  size_t *size);
/*
 * The same into the caller's memory, of which room bytes are there: *size are used. What is in it after an error is
 * undefined. PTL_NOT_FOUND, PTL_CORRUPT, PTL_NO_MEMORY (also for a blob beyond room bytes).
 */
int ptl_blob_read_into(struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], uint8_t *out, size_t room,
		       size_t *size);

/*
 * Blobs that the trace refers to and does not hold (ptl-relog --detach-code) are read from this folder, by ptl_blob_read and
 * ptl_blob_read_into, each in a file that is named by its hash: ab/cdef... in lower-case hexadecimal. They are not among
 * those of ptl_blob_at. A URL of HTTP or HTTPS names a folder behind a server: what is wanted of it is kept, once its hash is checked,
 * in $PTL_CODE_CACHE, $XDG_CACHE_HOME/ptl/code or ~/.cache/ptl/code. The name is copied; NULL: no folder. PTL_NO_MEMORY; of a
 * URL, PTL_MISUSE and PTL_UNSUPPORTED (no libcurl). To be called before the trace is used by several threads.
 */
int ptl_code_store(struct ptl_trace *trace, const char *folder);
/* Whether that folder has a blob, and its size. What its bytes are is checked when it is read. */
bool ptl_code_store_has(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], uint64_t *size);

/* --- buffers as they lie in the file, for copying ------------------------------------------------- */

struct ptl_buffer {
	struct {
		uint32_t id, kind, cpu, pid, tid; /* as in struct ptl_stream */
	} stream;
	uint32_t raw_size;
	uint32_t stored_size;
	uint32_t records;
	uint64_t sequence;
	uint64_t offset; /* of the buffer header in the file */
	uint64_t first_time;
	uint64_t last_time;
	uint64_t position; /* of its first payload byte in the stream */
	uint8_t codec;
};

size_t ptl_buffer_count(const struct ptl_trace *trace);
const struct ptl_buffer *ptl_buffer_at(const struct ptl_trace *trace, size_t i);
/*
 * The payload, decompressed and checked, in fresh memory (caller frees). PTL_CORRUPT, PTL_TRUNCATED and
 * PTL_UNSUPPORTED (also put on the damage list), PTL_NO_MEMORY, PTL_SYSTEM, PTL_MISUSE (no such buffer).
 */
int ptl_buffer_read(struct ptl_trace *trace, size_t i, uint8_t **data, size_t *size);
/* The same into the caller's memory, of size bytes, at least the buffer's raw_size; nothing is copied twice. */
int ptl_buffer_read_into(struct ptl_trace *trace, size_t i, void *data, size_t size);
/*
 * The same without a copy: the payload stays where it is until ptl_buffer_release. What is released may be
 * kept for the next reader, within memory_limit; what is acquired counts, but is never refused.
 */
int ptl_buffer_acquire(struct ptl_trace *trace, size_t i, const uint8_t **data, size_t *size);
/* Once for each successful ptl_buffer_acquire. */
void ptl_buffer_release(struct ptl_trace *trace, size_t i);

/* --- metadata records as they lie in the file, for copying ---------------------------------------- */

/* A record of the METADATA stream; docs/format.md 5 gives types and bodies. */
struct ptl_record {
	uint64_t type;
	const uint8_t *data; /* the body */
	size_t size;
	bool known; /* this version of libptl knows the type */
};

size_t ptl_record_count(const struct ptl_trace *trace);
/* NULL for i beyond the count. Lives until ptl_close. */
const struct ptl_record *ptl_record_at(const struct ptl_trace *trace, size_t i);

#ifdef __cplusplus
}
#endif

#endif
