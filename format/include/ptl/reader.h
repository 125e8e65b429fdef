/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads trace files: open, process and close, as in ETW, and random access to streams, PSBs and blobs. */
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
	bool ignore_index;   /* rebuild the index by scanning, as for a file without an index */
	size_t memory_limit; /* limit for decompressed buffers together, in bytes; 0: default (64 MiB) */
	/* up to 8 MiB of the decompressed buffers may use huge pages: faster, for programs with few open traces */
	bool huge_pages;
	/*
	 * Limit for expansion: a compressed buffer of events that expands to more than this many times its size in the
	 * file counts as damage. 0: default (256, six times the maximum of recordings); UINT32_MAX: no limit. For
	 * ptl_blob_read and ptl_blob_read_into, a blob of more than 64 MiB counts as damage if it is more than this
	 * many times as large as the file.
	 */
	uint32_t max_expansion;
};

/* Damaged or missing data found by the reader. The reader never skips data silently. */
struct ptl_damage {
	uint64_t offset;  /* in the file */
	uint64_t size;    /* bytes skipped; 0: nothing was skipped */
	int status;       /* PTL_CORRUPT, PTL_TRUNCATED, PTL_UNSUPPORTED */
	uint32_t stream;  /* PTL_NO_ID: unknown */
	const char *text; /* "buffer of stream 3, sequence 7: payload checksum differs" */
};

/*
 * Opens a trace; "-" is standard input. A file without random access (a pipe) is copied to an unlinked temporary file
 * in $TMPDIR. A damaged file can be opened if its header is intact; ptl_damage_* list the damage. options may be NULL.
 * PTL_NOT_OURS, PTL_UNSUPPORTED (newer major version), PTL_TRUNCATED, PTL_CORRUPT, PTL_NO_MEMORY, PTL_SYSTEM. All
 * functions that only read a ptl_trace may be called from several threads.
 */
int ptl_open(const char *path, const struct ptl_open_options *options, struct ptl_trace **trace);
/* As ptl_open, for a descriptor, of which the trace takes ownership on success. name: for messages. */
int ptl_open_fd(int fd, const char *name, const struct ptl_open_options *options, struct ptl_trace **trace);
void ptl_close(struct ptl_trace *trace);
/* Whether an open regular file ends like a trace closed by its writer, so that no more data will follow. */
bool ptl_is_closed(int fd);

/* The structures returned below live until ptl_close. */
/* never NULL; zeroed if the file has no machine */
const struct ptl_machine *ptl_trace_machine(const struct ptl_trace *trace);
/*
 * The machines of a merged trace, by index. Index 0 is ptl_trace_machine. NULL: the file has no machine of this index.
 * The count is the highest index plus one.
 */
size_t ptl_machine_count(const struct ptl_trace *trace);
const struct ptl_machine *ptl_machine_at(const struct ptl_trace *trace, size_t index);
/* Returns the machine of a pid, tid or CPU; never NULL. */
const struct ptl_machine *ptl_machine_of(const struct ptl_trace *trace, uint32_t id);
void ptl_trace_version(const struct ptl_trace *trace, uint16_t *major, uint16_t *minor);
/* Returns the GUID of the file, and the wall time when its writing began (nanoseconds since 1970 UTC). */
void ptl_trace_id(const struct ptl_trace *trace, struct ptl_guid *id, int64_t *wall_time);
uint64_t ptl_trace_size(const struct ptl_trace *trace); /* bytes of the file */
/* whether the file has an index, so the writer has closed the file */
bool ptl_trace_complete(const struct ptl_trace *trace);
size_t ptl_stream_count(const struct ptl_trace *trace);
const struct ptl_stream *ptl_stream_at(const struct ptl_trace *trace, size_t i);
const struct ptl_stream *ptl_stream_find(const struct ptl_trace *trace, uint32_t id); /* NULL: not found */
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
/* Returns the schema of an event's payload. NULL: the file has no schema, or the event is raw (ptl_event_is_raw). */
const struct ptl_schema *ptl_schema_of(const struct ptl_trace *trace, const struct ptl_event *event);
/* Returns the schema of a descriptor; NULL if the file has none. For a given event, use ptl_schema_of. */
const struct ptl_schema *ptl_schema_find(const struct ptl_trace *trace, const struct ptl_descriptor *descriptor);
size_t ptl_map_count(const struct ptl_trace *trace);
const struct ptl_map *ptl_map_at(const struct ptl_trace *trace, size_t i);
/* Returns the provider's map of this kind and name; NULL if the file has none. */
const struct ptl_map *ptl_map_find(const struct ptl_trace *trace, const struct ptl_guid *provider, uint32_t kind,
				   const char *name);
/* Returns the map, of either kind for fields, that a field of the provider's schemas refers to, or NULL. */
const struct ptl_map *ptl_map_of_field(const struct ptl_trace *trace, const struct ptl_guid *provider,
				       const struct ptl_field *field);

/* --- events ------------------------------------------------------------------------------------- */

struct ptl_callbacks {
	size_t size; /* sizeof(struct ptl_callbacks) */
	/* Each callback may be NULL. The run stops at a non-zero result and returns this result. */
	int (*begin)(void *context, struct ptl_trace *trace);
	int (*event)(void *context, struct ptl_trace *trace, const struct ptl_event *event);
	int (*end)(void *context, struct ptl_trace *trace);
};

struct ptl_event_filter {
	size_t size;         /* sizeof(struct ptl_event_filter) */
	uint64_t first_time; /* inclusive */
	uint64_t last_time;  /* inclusive; 0: no end */
};

/*
 * Passes all events of all streams to callbacks->event, merged in order of time (at equal times: by stream, then in the
 * written order). Memory: one buffer per active event stream, together at most four times memory_limit; events of
 * further buffers wait in an unnamed file in $TMPDIR (PTL_SYSTEM if this file cannot be written). filter may be NULL.
 * Damaged buffers are skipped and listed. May be called repeatedly, and from several threads at once.
 */
int ptl_process(struct ptl_trace *trace, const struct ptl_event_filter *filter, const struct ptl_callbacks *callbacks,
		void *context);

/* --- real time ---------------------------------------------------------------------------------- */

struct ptl_realtime_options {
	size_t size;                         /* sizeof(struct ptl_realtime_options) */
	const struct ptl_open_options *open; /* ignore_index has no effect; NULL: defaults */
	/*
	 * Nanoseconds that an event waits, after it was read, for earlier events of other streams; 0: default (450 ms,
	 * slightly more than ptl-record keeps events in a partial buffer). An event that arrives even later is
	 * delivered out of order.
	 */
	uint64_t delay;
	/*
	 * Called many times a second while a function waits for more data. A result other than 0 ends this function,
	 * which returns the result. May be NULL. trace is NULL while ptl_process_session waits for a recorder's answer.
	 */
	int (*idle)(void *context, struct ptl_trace *trace);
	void *context;
};

/*
 * Opens a trace that is being written, like OpenTrace with PROCESS_TRACE_MODE_REAL_TIME: a growing file, or a pipe ("-"
 * is standard input). Waits until the trace's machine is known; also waits for a file that is still empty. ptl_process
 * then passes events as they arrive, and returns when the trace is over: its writer has closed the trace, or is gone.
 *
 * Results of the functions above may change whenever a function waits, so pointers to streams are valid only until
 * then. Only one thread may use the trace. The end of a growing file is not damage; data missing after its writer is
 * gone is damage. A call of ptl_process from within a callback passes the events available at that time.
 *
 * options may be NULL. Errors as ptl_open.
 */
int ptl_open_realtime(const char *path, const struct ptl_realtime_options *options, struct ptl_trace **trace);
/* As ptl_open_realtime, for a descriptor, of which the trace takes ownership on success. */
int ptl_open_realtime_fd(int fd, const char *name, const struct ptl_realtime_options *options,
			 struct ptl_trace **trace);
/*
 * Passes the events of a running session of ptl-record of this user, as ptl_process does for a file opened with
 * ptl_open_realtime. Covers all files that the session writes one after the other; events that are in two files are
 * passed once. begin and end are called for each file, with its trace, which is closed afterwards; the filter applies
 * to each file. Returns when the session is over and its remaining files have been read, or with a callback's non-zero
 * result.
 *
 * *missed (may be NULL) counts events in files that were deleted before they could be read, as the session does not
 * wait for readers. PTL_TRUNCATED: the session was killed; the events in its files were passed, but the last events may
 * be missing and are not counted. PTL_NOT_FOUND: no such session. Other errors as ptl_open_realtime and ptl_process.
 *
 * The first call, and each change of files, waits without limit for a recorder that is stopped (SIGSTOP) or hangs,
 * until the recorder answers or is gone, or idle() ends the wait. Without idle(), nothing else ends the wait, not even
 * a signal.
 */
int ptl_process_session(const char *session, const struct ptl_realtime_options *options,
			const struct ptl_event_filter *filter, const struct ptl_callbacks *callbacks, void *context,
			uint64_t *missed);
/*
 * Writes everything that a session of ptl-record of this user has recorded so far to the session's file, like
 * ControlTrace with EVENT_TRACE_CONTROL_FLUSH, and returns when the data is in the file. Data of a process is complete
 * once the end of the process is in the file. Waits for a recorder that is stopped or hangs. PTL_NOT_FOUND: no such
 * session.
 */
int ptl_session_flush(const char *session);

/*
 * For programs that read streams rather than events: waits up to `timeout` nanoseconds for new data. *more: data was
 * added, or the trace has just ended. Returns 0 or the result of idle(). PTL_MISUSE (the trace is not a real-time
 * trace), PTL_NO_MEMORY, PTL_SYSTEM.
 */
int ptl_realtime_wait(struct ptl_trace *trace, uint64_t timeout, bool *more);
/*
 * Returns the time up to which the trace is complete, provided the delay is sufficient. 0: not known yet; UINT64_MAX:
 * the trace is over.
 */
uint64_t ptl_realtime_horizon(const struct ptl_trace *trace);
/* Whether the trace is over, so that no more data follows. */
bool ptl_realtime_over(const struct ptl_trace *trace);

/* --- bytes of PT and TRUTH streams -------------------------------------------------------------- */

/*
 * Copies `size` bytes at `offset` of the stream. *read: bytes available before the stream's end or the next hole (lost
 * or damaged buffer). If a hole is at `offset`, *read = 0 and *hole is the size of the hole (0 at the end of the
 * stream). PTL_SYSTEM, PTL_NO_MEMORY, PTL_MISUSE (no such stream).
 */
int ptl_stream_read(struct ptl_trace *trace, uint32_t stream, uint64_t offset, void *data, size_t size, size_t *read,
		    uint64_t *hole);

/*
 * Decompresses a buffer of the stream in advance, so that an idle thread can help a thread that is about to read. The
 * buffer is the n-th after the buffer that contains `offset`; nothing happens if the buffer begins at or after `end`.
 * Failures are reported when the buffer is read.
 */
void ptl_stream_read_ahead(struct ptl_trace *trace, uint32_t stream, uint64_t offset, uint64_t end, size_t n);

struct ptl_psb {
	uint64_t offset; /* in the stream */
	uint64_t time;   /* trace clock; 0: unknown */
};

/*
 * Returns the index of PSBs of a PT stream, in order. If the file has no index, searches the stream's bytes (times are
 * 0 then). Lives until ptl_close. PTL_MISUSE (no PT stream), PTL_NO_MEMORY, PTL_SYSTEM.
 */
int ptl_psb_index(struct ptl_trace *trace, uint32_t stream, const struct ptl_psb **psbs, size_t *count);

/* --- blobs -------------------------------------------------------------------------------------- */

struct ptl_blob_info {
	uint8_t hash[PTL_HASH_SIZE];
	uint32_t type;
	uint64_t size;
	uint64_t stored; /* bytes in the file */
};

size_t ptl_blob_count(const struct ptl_trace *trace);
const struct ptl_blob_info *ptl_blob_at(const struct ptl_trace *trace, size_t i);
/* Returns the number of the blob with this hash, for ptl_blob_at; PTL_NO_ID if not found. */
uint32_t ptl_blob_number(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE]);
const struct ptl_blob_info *ptl_blob_find(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE]);
/*
 * Reads a whole blob into new memory, which the caller frees, and verifies its hash. PTL_NOT_FOUND, PTL_CORRUPT,
 * PTL_NO_MEMORY (also for a blob of more than `limit` bytes).
 */
int ptl_blob_read(struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], size_t limit, uint8_t **data,
		  size_t *size);
/*
 * As ptl_blob_read, into the caller's memory of `room` bytes; *size: bytes of the blob. The memory's content is
 * undefined after an error. PTL_NOT_FOUND, PTL_CORRUPT, PTL_NO_MEMORY (also for a blob of more than `room` bytes).
 */
int ptl_blob_read_into(struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], uint8_t *out, size_t room,
		       size_t *size);

/*
 * Sets the folder from which ptl_blob_read and ptl_blob_read_into read blobs that the trace refers to but does not
 * contain (ptl-relog --detach-code). Each blob is a file named by its hash: ab/cdef... in lower-case hexadecimal.
 * ptl_blob_at does not list these blobs. An HTTP or HTTPS URL names a folder on a server: downloaded blobs are verified
 * and then kept in $PTL_CODE_CACHE, $XDG_CACHE_HOME/ptl/code or ~/.cache/ptl/code. The name is copied; NULL: no folder.
 * Call before several threads use the trace. PTL_NO_MEMORY; for a URL also PTL_MISUSE, and PTL_UNSUPPORTED (no
 * libcurl).
 */
int ptl_code_store(struct ptl_trace *trace, const char *folder);
/* Whether the folder of ptl_code_store has a blob; sets *size. The content is verified only when read. */
bool ptl_code_store_has(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], uint64_t *size);

/* --- buffers as stored in the file, for copying ----------------------------------------------------- */

struct ptl_buffer {
	struct {
		uint32_t id, kind, cpu, pid, tid; /* as in struct ptl_stream */
	} stream;
	uint32_t raw_size;
	uint32_t stored_size;
	uint32_t records;
	uint64_t sequence;
	uint64_t offset; /* file offset of the buffer header */
	uint64_t first_time;
	uint64_t last_time;
	uint64_t position; /* position of the first payload byte in the stream */
	uint8_t codec;
};

size_t ptl_buffer_count(const struct ptl_trace *trace);
const struct ptl_buffer *ptl_buffer_at(const struct ptl_trace *trace, size_t i);
/*
 * Reads a buffer's payload, decompressed and verified, into new memory, which the caller frees. PTL_CORRUPT,
 * PTL_TRUNCATED and PTL_UNSUPPORTED (also added to the list of damage), PTL_NO_MEMORY, PTL_SYSTEM, PTL_MISUSE (no such
 * buffer).
 */
int ptl_buffer_read(struct ptl_trace *trace, size_t i, uint8_t **data, size_t *size);
/* As ptl_buffer_read, directly into the caller's memory of `size` bytes, at least the buffer's raw_size. */
int ptl_buffer_read_into(struct ptl_trace *trace, size_t i, void *data, size_t size);
/*
 * As ptl_buffer_read, without a copy: the payload stays at its address until ptl_buffer_release. A released payload may
 * be cached for the next reader, within memory_limit. Acquired payloads count towards the limit, but are never refused.
 */
int ptl_buffer_acquire(struct ptl_trace *trace, size_t i, const uint8_t **data, size_t *size);
/* Call once for each successful ptl_buffer_acquire. */
void ptl_buffer_release(struct ptl_trace *trace, size_t i);

/* --- metadata records as stored in the file, for copying -------------------------------------------- */

/* A record of the METADATA stream. docs/format.md, section 5, describes types and bodies. */
struct ptl_record {
	uint64_t type;
	const uint8_t *data; /* body of the record */
	size_t size;
	bool known; /* whether this version of libptl knows the type */
};

size_t ptl_record_count(const struct ptl_trace *trace);
/* Returns record i; NULL if i is not below the count. Lives until ptl_close. */
const struct ptl_record *ptl_record_at(const struct ptl_trace *trace, size_t i);

#ifdef __cplusplus
}
#endif

#endif
