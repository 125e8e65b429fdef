/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel provider's classes: process, thread and image, with ETW's GUIDs, opcodes and field names, and PTL's own
 * code and signal events. Each class has a plain structure, an encoder and a decoder.
 */
#ifndef PTL_KERNEL_H
#define PTL_KERNEL_H

#include <ptl/bytes.h>
#include <ptl/event.h>
#include <ptl/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const struct ptl_guid PTL_PROVIDER_KERNEL;  /* 9e814aad-3204-11d2-9a82-006008a86939 */
extern const struct ptl_guid PTL_PROVIDER_PROCESS; /* 3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c */
extern const struct ptl_guid PTL_PROVIDER_THREAD;  /* 3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c */
extern const struct ptl_guid PTL_PROVIDER_IMAGE;   /* 2cb15d1d-5fc1-11d2-abe1-00a0c911f518 */
extern const struct ptl_guid PTL_PROVIDER_CODE;    /* PTL's own: changes of code bytes */
extern const struct ptl_guid PTL_PROVIDER_SIGNAL;  /* PTL's own: signals that end processes */

/* Opcodes, in addition to PTL_OPCODE_START of ptl/event.h, which has its general meaning. */
enum ptl_kernel_opcode {
	PTL_OPCODE_END = 2,
	PTL_OPCODE_START_RUNDOWN = 3,   /* object that existed when the capture or cut began */
	PTL_OPCODE_END_RUNDOWN = 4,     /* object that still existed when the capture or cut ended */
	PTL_OPCODE_LOAD = 10,           /* image is loaded */
	PTL_OPCODE_UNLOAD = 2,          /* image is unloaded */
	PTL_OPCODE_PROTECT = 64,        /* image: protection has changed (PTL) */
	PTL_OPCODE_CONTEXT_SWITCH = 36, /* thread: a CPU switches from one thread to another */
	PTL_OPCODE_EXEC = 64,           /* process has replaced its program; all its images are gone (PTL) */
	PTL_OPCODE_CODE = 64,           /* code: the bytes of a range change to those of a blob (PTL) */
	PTL_OPCODE_FATAL = 64,          /* signal: the default action of a signal ends the process (PTL) */
};

/*
 * Limit for a path, or the name of a program or thread, in bytes: Linux' PATH_MAX. Encoders cut longer names; decoders
 * return PTL_CORRUPT, since a name may be printed with every line. Command lines are not limited.
 */
#define PTL_PATH_MAX 4096u

/* Strings are zero-terminated bytes from the system (usually UTF-8), and never NULL after decoding. */
struct ptl_process_event {
	uint64_t unique_key; /* UniqueProcessKey: never reused in a trace, unlike a pid */
	uint32_t process_id;
	uint32_t parent_id;
	int32_t exit_status; /* encoded as by wait(2); for END, and valid only if has_exit_status */
	bool has_exit_status;
	bool begins_empty;           /* for START: inherits nothing from its parent, as on Windows; not encoded */
	const char *image_file_name; /* path of the program */
	const char *command_line;    /* arguments, shell-quoted where needed */
};

struct ptl_thread_event {
	uint32_t process_id;
	uint32_t thread_id;
	uint64_t start_address; /* Win32StartAddr; 0: unknown */
	const char *name;
};

/* The event's CPU switches from one thread to another; 0: the idle thread. */
struct ptl_switch_event {
	uint32_t new_thread;
	uint32_t old_thread;
};

#define PTL_BUILD_ID_MAX 64

/* ptl_image_event.protection: PROT_READ, PROT_WRITE, PROT_EXEC of mmap(2). */
struct ptl_image_event {
	uint64_t base;
	uint64_t size;
	uint32_t process_id;
	uint32_t time_date_stamp; /* 0 on Linux */
	/* page-aligned p_vaddr of the segment at base; base - default_base is the load bias */
	uint64_t default_base;
	const char *file_name; /* path, or "//anon", "memfd:NAME", "[vdso]" for memory without a path */
	uint64_t file_offset;
	uint32_t protection;
	uint32_t device_major;
	uint32_t device_minor;
	uint64_t inode;
	uint8_t build_id[PTL_BUILD_ID_MAX];
	size_t build_id_size; /* 0: none */
	bool has_code, has_symbols, has_debug;
	uint8_t code[PTL_HASH_SIZE];    /* blob with the image's bytes from base on; may have fewer than `size` bytes */
	uint8_t symbols[PTL_HASH_SIZE]; /* blob in the format of ptl/symbols.h */
	uint8_t debug[PTL_HASH_SIZE];
};

/* From the event's time on, the bytes at `base` are those of the blob (JIT, self-modified or private code). */
struct ptl_code_event {
	uint32_t process_id;
	uint64_t base;
	uint64_t size;
	uint8_t code[PTL_HASH_SIZE];
};

/*
 * A thread took a signal, and the signal's default action ends the process. event.pid and event.tid are the thread's.
 * An end of the process with this signal follows.
 */
struct ptl_signal_event {
	uint32_t process_id;
	uint32_t thread_id;
	uint32_t signal;
	int32_t code;       /* si_code of sigaction(2) */
	uint32_t sender_id; /* process that sent the signal; 0: the kernel sent the signal, or the sender is unknown */
	bool has_address;
	uint64_t address; /* si_addr: the data of SIGSEGV and SIGBUS, the instruction of SIGILL, SIGFPE and SIGTRAP */
};

/*
 * Encoders: set descriptor and payload of `event` from `data`; the caller sets time, cpu, pid and tid. The payload is
 * appended to `storage`, which the caller owns, empties before the call and frees later. PTL_NO_MEMORY; PTL_MISUSE: the
 * strings exceed the limit for payloads.
 */
int ptl_process_encode(const struct ptl_process_event *data, uint8_t opcode, struct ptl_bytes *storage,
		       struct ptl_event *event);
int ptl_thread_encode(const struct ptl_thread_event *data, uint8_t opcode, struct ptl_bytes *storage,
		      struct ptl_event *event);
int ptl_switch_encode(const struct ptl_switch_event *data, struct ptl_bytes *storage, struct ptl_event *event);
int ptl_image_encode(const struct ptl_image_event *data, uint8_t opcode, struct ptl_bytes *storage,
		     struct ptl_event *event);
int ptl_code_encode(const struct ptl_code_event *data, struct ptl_bytes *storage, struct ptl_event *event);
int ptl_signal_encode(const struct ptl_signal_event *data, struct ptl_bytes *storage, struct ptl_event *event);

/*
 * Decoders. Strings live in the caller's `storage`. PTL_NOT_OURS: the event is of another class (context switches and
 * thread events are separate classes), or its opcode has another meaning. PTL_UNSUPPORTED: unknown version (the
 * versions of Windows are known). PTL_TRUNCATED, PTL_CORRUPT: invalid payload.
 */
int ptl_process_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_process_event *data);
int ptl_thread_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_thread_event *data);
int ptl_switch_decode(const struct ptl_event *event, struct ptl_switch_event *data);
int ptl_image_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_image_event *data);
int ptl_code_decode(const struct ptl_event *event, struct ptl_code_event *data);
int ptl_signal_decode(const struct ptl_event *event, struct ptl_signal_event *data);

/* Returns the schemas of all these events, for a writer to store in its file. */
const struct ptl_schema *const *ptl_kernel_schemas(size_t *count);

#ifdef __cplusplus
}
#endif

#endif
