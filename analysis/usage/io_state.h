/* SPDX-License-Identifier: BSD-2-Clause */
/* State of the fold of input and output. */
#ifndef ANALYSIS_USAGE_IO_STATE_H
#define ANALYSIS_USAGE_IO_STATE_H

#include "analysis/usage/io.h"
#include "analysis/usage/kernel_event.h"
#include "analysis/usage/tid_index.h"

enum usage_io_kind {
	USAGE_BLOCK_INSERT,
	USAGE_BLOCK_ISSUE,
	USAGE_BLOCK_COMPLETE,
	USAGE_SYSTEM_ENTER,
	USAGE_SYSTEM_EXIT,
	USAGE_RAW_ENTER,
	USAGE_RAW_EXIT,
	USAGE_PAGE_CACHE,
	USAGE_SOCKET_STATE,
	USAGE_SOCKET_SEND,
	USAGE_SOCKET_RECEIVE,
	USAGE_INTERFACE_SEND,
	USAGE_INTERFACE_RECEIVE,
	USAGE_WINDOWS_CLOCK,
	USAGE_WINDOWS_DISK_READ,
	USAGE_WINDOWS_DISK_WRITE,
	USAGE_WINDOWS_DISK_FLUSH,
	USAGE_WINDOWS_FILE_READ,
	USAGE_WINDOWS_FILE_WRITE,
	USAGE_WINDOWS_FILE_OTHER,
	USAGE_WINDOWS_FILE_END,
	USAGE_WINDOWS_FAULT,
	USAGE_WINDOWS_SEND,
	USAGE_WINDOWS_RECEIVE,
};

/* Fields of the types, as indexes of values. */
enum { USAGE_BLOCK_DEVICE, USAGE_BLOCK_SECTOR, USAGE_BLOCK_SECTORS, USAGE_BLOCK_RWBS, USAGE_BLOCK_ERROR };
enum { USAGE_CALL_NUMBER, USAGE_CALL_FD, USAGE_CALL_OUT_FD, USAGE_CALL_OLD_FD, USAGE_CALL_FILE };
enum { USAGE_EXIT_NUMBER, USAGE_EXIT_RESULT };
enum { USAGE_RAW_NUMBER, USAGE_RAW_ARGUMENTS };
enum { USAGE_CACHE_DEVICE, USAGE_CACHE_INODE, USAGE_CACHE_ORDER };
enum {
	USAGE_SOCK,
	USAGE_SOCK_RESULT,
	USAGE_SOCK_SPORT,
	USAGE_SOCK_DPORT,
	USAGE_SOCK_FAMILY,
	USAGE_SOCK_SADDR,
	USAGE_SOCK_DADDR,
	USAGE_SOCK_SADDR6,
	USAGE_SOCK_DADDR6
};
enum { USAGE_NET_NAME, USAGE_NET_LENGTH, USAGE_NET_FLAGS };
enum { USAGE_CLOCK_FREQUENCY };
enum { USAGE_DISK_NUMBER, USAGE_DISK_SIZE, USAGE_DISK_TIME, USAGE_DISK_THREAD, USAGE_DISK_NAME };
enum { USAGE_FILE_IRP, USAGE_FILE_SIZE, USAGE_FILE_NAME, USAGE_FILE_THREAD, USAGE_FILE_PATH, USAGE_FILE_STATUS };
enum { USAGE_FAULT_START, USAGE_FAULT_SIZE, USAGE_FAULT_THREAD, USAGE_FAULT_NAME };
enum { USAGE_TCP_PID, USAGE_TCP_SIZE, USAGE_TCP_SADDR, USAGE_TCP_DADDR, USAGE_TCP_SPORT, USAGE_TCP_DPORT };

/* An operation that has not ended. */
struct usage_pending {
	bool active;
	bool waits; /* a disk request that is inserted, and not issued */
	uint32_t process, object;
	enum usage_operation operation;
	uint64_t since;
	uint64_t bytes, left; /* of a disk request: bytes so far, sectors left */
	uint64_t call;        /* number of a system call */
	bool is_raw;          /* the tracepoint of all calls reported the beginning first */
	uint64_t fd;          /* descriptor of a system call */
	char *name;           /* file of a system call that opens; owned; NULL */
};

struct usage_pendings {
	struct common_hash_map index;
	struct usage_pending *list;
	size_t count, capacity;
	size_t *free; /* unused places of the list */
	size_t free_count, free_capacity;
};

struct usage_io_state {
	struct usage_events events;
	const struct analysis_input *input;
	const struct flow_timeline *timeline;
	struct usage_tids tids;
	struct common_hash_map by_process; /* pid and index in the timeline: process */
	struct common_byte_map by_object;  /* medium and name: object */
	struct common_hash_map by_use;     /* process and object: use */
	struct common_byte_map images;     /* device and inode: image of the timeline; filled on demand */
	struct common_hash_map devices;    /* device number: its index + 1, for keys of requests */
	struct usage_pendings requests, flushes, calls, irps; /* flushes: the last of each disk */
	struct common_hash_map last_call; /* by thread: last finished system call, and its tracepoint */
	struct common_hash_map files;     /* process and descriptor: object */
	struct common_hash_map sockets;   /* address of a socket: object */
	uint64_t frequency;               /* of Windows' performance counter; 0: unknown */
	struct ptl_bytes text;
};

extern const struct usage_event_type usage_io_types[];
extern const size_t usage_io_type_count;

/* ---- the fold -------------------------------------------------------------------------------------- */

/* Finds or adds. pid PTL_NO_ID: the unknown process. */
int usage_io_process(struct usage_io *io, uint32_t pid, uint64_t time, uint32_t *process);
/* Finds the process of a thread, by a tid in the payload of an event. */
int usage_io_process_of(struct usage_io *io, const struct ptl_event *event, uint64_t tid, uint32_t *process);
int usage_io_object(struct usage_io *io, enum usage_medium medium, const char *name, uint32_t *object);

struct usage_io_done {
	uint32_t process, object;
	enum usage_operation operation;
	uint64_t bytes;
	uint64_t begin; /* 0: unknown */
	uint64_t end;
	bool failed;
};

/* Returns the part of [from, to] within the window, in nanoseconds. */
uint64_t usage_io_within(const struct usage_io *io, uint64_t from, uint64_t to);
/* Counts an operation that ended. */
int usage_io_add(struct usage_io *io, const struct usage_io_done *done);
/* Counts an operation that had not ended at the end of the window. */
int usage_io_add_unfinished(struct usage_io *io, const struct usage_pending *pending);

/* Returns the place of a new operation, in place of an operation with the key; NULL without memory. */
struct usage_pending *usage_pending_add(struct usage_pendings *pendings, uint64_t key);
struct usage_pending *usage_pending_find(const struct usage_pendings *pendings, uint64_t key);
/* Removes the operation. Its place stays readable until the next addition. */
void usage_pending_remove(struct usage_pendings *pendings, uint64_t key);
void usage_pendings_free(struct usage_pendings *pendings);

/* ---- events, one function for each family ------------------------------------------------------------ */

int usage_io_block(struct usage_io *io, const struct usage_event *read);
int usage_io_call(struct usage_io *io, const struct usage_event *read);
int usage_io_network(struct usage_io *io, const struct usage_event *read);
int usage_io_page_cache(struct usage_io *io, const struct usage_event *read);
int usage_io_windows(struct usage_io *io, const struct usage_event *read);

#endif
