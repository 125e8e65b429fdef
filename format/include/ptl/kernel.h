/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel provider's classes: process, thread and image, with ETW's GUIDs, opcodes and field names,
 * and the code events that PTL adds. Each has a plain structure, an encoder and a decoder.
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
extern const struct ptl_guid PTL_PROVIDER_CODE;    /* PTL's own: code bytes that changed */

/* PTL_OPCODE_START, of ptl/event.h, means here what it means everywhere. */
enum ptl_kernel_opcode {
	PTL_OPCODE_END = 2,
	PTL_OPCODE_START_RUNDOWN = 3,   /* existed when the capture or cut began */
	PTL_OPCODE_END_RUNDOWN = 4,     /* still existed when it ended */
	PTL_OPCODE_LOAD = 10,           /* image */
	PTL_OPCODE_UNLOAD = 2,          /* image */
	PTL_OPCODE_PROTECT = 64,        /* image: its protection changed (PTL) */
	PTL_OPCODE_CONTEXT_SWITCH = 36, /* thread: a CPU goes from one to another */
	PTL_OPCODE_EXEC = 64,           /* process: replaced its program; all its images are gone (PTL) */
	PTL_OPCODE_CODE = 64,           /* code: bytes of a range are, from now on, these (PTL) */
};

/*
 * Bytes of a path, or of the name of a program or thread; PATH_MAX of Linux. Encoders cut what is longer; decoders say
 * PTL_CORRUPT to it, since it may be shown with each line of what ran there. Command lines have no such bound.
 */
#define PTL_PATH_MAX 4096u

/* Strings are zero-terminated bytes as the system gave them (UTF-8 by custom); never NULL after decoding. */
struct ptl_process_event {
	uint64_t unique_key; /* UniqueProcessKey: never reused in a trace, unlike a pid */
	uint32_t process_id;
	uint32_t parent_id;
	int32_t exit_status; /* as wait(2) encodes it; valid with END and known only if has_exit_status */
	bool has_exit_status;
	bool begins_empty;           /* with START: has nothing of its parent, as on Windows; not encoded */
	const char *image_file_name; /* path of the program */
	const char *command_line;    /* arguments, shell-quoted where needed */
};

struct ptl_thread_event {
	uint32_t process_id;
	uint32_t thread_id;
	uint64_t start_address; /* Win32StartAddr; 0 unknown */
	const char *name;
};

/* A CPU, which is the event's, goes from one thread to another; 0: the idle thread. */
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
	uint64_t default_base;    /* p_vaddr of base's segment, page aligned: base - default_base is the load bias */
	const char *file_name;    /* path; "//anon", "memfd:NAME", "[vdso]" for what has none */
	uint64_t file_offset;
	uint32_t protection;
	uint32_t device_major;
	uint32_t device_minor;
	uint64_t inode;
	uint8_t build_id[PTL_BUILD_ID_MAX];
	size_t build_id_size; /* 0: none */
	bool has_code, has_symbols, has_debug;
	uint8_t code[PTL_HASH_SIZE];    /* blob with the image's bytes from base on; may be shorter than size */
	uint8_t symbols[PTL_HASH_SIZE]; /* blob of ptl/symbols.h */
	uint8_t debug[PTL_HASH_SIZE];
};

/* The bytes at base are those of the blob from this time on (a JIT, self-modified or private code). */
struct ptl_code_event {
	uint32_t process_id;
	uint64_t base;
	uint64_t size;
	uint8_t code[PTL_HASH_SIZE];
};

/*
 * Encoders: fill event's descriptor and payload from data (time, cpu, pid, tid stay the caller's) with the
 * payload's memory in storage, which the caller owns, empties before and frees after. PTL_NO_MEMORY;
 * PTL_MISUSE for strings beyond the payload's bound.
 */
int ptl_process_encode(const struct ptl_process_event *data, uint8_t opcode, struct ptl_bytes *storage,
		       struct ptl_event *event);
int ptl_thread_encode(const struct ptl_thread_event *data, uint8_t opcode, struct ptl_bytes *storage,
		      struct ptl_event *event);
int ptl_switch_encode(const struct ptl_switch_event *data, struct ptl_bytes *storage, struct ptl_event *event);
int ptl_image_encode(const struct ptl_image_event *data, uint8_t opcode, struct ptl_bytes *storage,
		     struct ptl_event *event);
int ptl_code_encode(const struct ptl_code_event *data, struct ptl_bytes *storage, struct ptl_event *event);

/*
 * Decoders: PTL_NOT_OURS for an event of another class (a context switch is one beside those of threads), or of an
 * opcode that means something else; PTL_UNSUPPORTED for an unknown version (those of Windows are known),
 * PTL_TRUNCATED or PTL_CORRUPT for a payload that does not fit. Strings live in storage (caller's).
 */
int ptl_process_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_process_event *data);
int ptl_thread_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_thread_event *data);
int ptl_switch_decode(const struct ptl_event *event, struct ptl_switch_event *data);
int ptl_image_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_image_event *data);
int ptl_code_decode(const struct ptl_event *event, struct ptl_code_event *data);

/* The schemas of all events above, for a writer to put into its file. */
const struct ptl_schema *const *ptl_kernel_schemas(size_t *count);

#ifdef __cplusplus
}
#endif

#endif
