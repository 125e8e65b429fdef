/* SPDX-License-Identifier: BSD-2-Clause */
/* What a trace file holds besides events: streams, machine and clock, blobs, losses, provenance. */
#ifndef PTL_TRACE_H
#define PTL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/error.h>
#include <ptl/guid.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTL_HASH_SIZE 32 /* SHA-256 */
#define PTL_NO_CPU UINT32_MAX
#define PTL_NO_ID UINT32_MAX

/* What a stream, and each of its buffers, holds. docs/format.md gives the payload of each kind. */
enum ptl_kind {
	PTL_KIND_METADATA = 1, /* machine, providers, schemas, losses, provenance: one stream a file */
	PTL_KIND_EVENTS = 2,   /* events, in time order within a stream */
	PTL_KIND_PT = 3,       /* Intel PT bytes as the CPU (or the software source) wrote them */
	PTL_KIND_BLOB = 4,     /* code, symbols, debug information, addressed by their SHA-256 */
	PTL_KIND_INDEX = 5,    /* the index at the end, which a reader can rebuild */
	PTL_KIND_TRUTH = 6,    /* blocks that were really executed; older versions wrote it, see docs/format.md */
};

/* A stream and whom it belongs to. Every buffer repeats this, so that each stands for itself. */
struct ptl_stream {
	uint32_t id;   /* unique in the file */
	uint32_t kind; /* enum ptl_kind, or one of a newer version */
	uint32_t cpu;  /* PTL_NO_CPU where the stream belongs to a thread or to none */
	uint32_t pid;  /* PTL_NO_ID where the stream belongs to a CPU or to none */
	uint32_t tid;
	/* Filled by the reader, ignored by the writer: */
	uint64_t bytes;   /* payload bytes before compression, holes included */
	uint64_t buffers; /* buffers whose headers are there */
	uint64_t lost;    /* sequence numbers that are missing; a bad payload is found when it is read: ptl_damage_at */
	uint64_t first_time; /* of all buffers that have a time; 0 where there is none */
	uint64_t last_time;
};

/* Which clock the trace's 64-bit times count, always in nanoseconds. */
enum ptl_clock {
	PTL_CLOCK_MONOTONIC = 1,     /* CLOCK_MONOTONIC of the recording machine */
	PTL_CLOCK_MONOTONIC_RAW = 2, /* CLOCK_MONOTONIC_RAW */
	PTL_CLOCK_PERF = 3,          /* perf's own clock (sched_clock) */
	PTL_CLOCK_VIRTUAL = 4,       /* instructions executed, one per nanosecond */
	PTL_CLOCK_NONE = 5,          /* unknown: times are 0 */
	PTL_CLOCK_QPC = 6,           /* QueryPerformanceCounter of Windows */
	PTL_CLOCK_SYSTEM = 7,        /* nanoseconds since 1970 UTC: of Windows, or of the start and steady since */
	PTL_CLOCK_CYCLES = 8,        /* cycles of Windows' CPUs, by the frequency that it tells */
};

enum ptl_timing {
	PTL_TIMING_NONE = 0,
	PTL_TIMING_TSC = 1,
	PTL_TIMING_MTC = 2,
	PTL_TIMING_CYC = 3,
};

enum ptl_vendor { PTL_VENDOR_UNKNOWN = 0, PTL_VENDOR_INTEL = 1, PTL_VENDOR_OTHER = 2 };

/* Everything a decoder must know of the machine, the clock and the PT configuration. */
struct ptl_machine {
	char source[32]; /* "software", "intel_pt", "raw", ...; older: "qemu" */
	bool software;   /* the packets were made by software, not by a CPU */
	bool redacted;
	char hostname[65];
	char kernel[130];      /* uname -r */
	char architecture[33]; /* "x86_64" */
	uint32_t cpus;         /* CPUs online */
	char cpu_name[64];     /* brand string */
	uint32_t vendor;       /* enum ptl_vendor; of the CPU that made the packets, for its errata */
	uint16_t family;
	uint8_t model;
	uint8_t stepping;
	uint8_t mode; /* 64 or 32: mode of execution where the packets do not say; 0 unknown */

	uint32_t clock;            /* enum ptl_clock */
	uint64_t start_time;       /* trace time at the start of the capture */
	uint64_t end_time;         /* 0 until known */
	int64_t wall_start;        /* nanoseconds since 1970 UTC at start_time */
	uint64_t wall_uncertainty; /* nanoseconds */

	/* time = tsc_zero + (tsc * tsc_multiplier >> tsc_shift), as perf_event_mmap_page has it; multiplier 0: unknown. */
	uint64_t tsc_zero;
	uint32_t tsc_multiplier;
	uint8_t tsc_shift;
	uint64_t tsc_frequency; /* Hz; 0 unknown */

	uint32_t timing; /* enum ptl_timing */
	bool return_compression;
	uint64_t psb_period;      /* bytes; 0 unknown */
	uint8_t mtc_frequency;    /* IA32_RTIT_CTL.MTCFreq: one MTC every 2^n crystal clocks */
	uint8_t cyc_threshold;    /* IA32_RTIT_CTL.CycThresh */
	uint32_t ctc_numerator;   /* CPUID.15H:EBX, TSC ticks per ... */
	uint32_t ctc_denominator; /* CPUID.15H:EAX */
	uint8_t nominal_ratio;    /* maximum non-turbo ratio (MSR_PLATFORM_INFO[15:8]) */

	uint16_t index;         /* 0, or which of the machines of a merged trace this is */
	char boot_id[37];       /* /proc/sys/kernel/random/boot_id: the same machine since the same start */
	uint64_t pid_namespace; /* inode of the recorder's pid namespace: whose process numbers these are; 0 unknown */
	/* Of an index that is not 0: how its times were brought to the clock of machine 0. */
	int64_t time_shift;         /* nanoseconds that were added */
	uint64_t shift_uncertainty; /* nanoseconds; UINT64_MAX: it is not known how the clocks relate */
};

/*
 * A trace that holds what several machines recorded keeps their numbers apart: processes, threads and CPUs of machine
 * n have n * PTL_MACHINE_IDS added to their ids. 10000001 is process 1 of machine 1.
 */
#define PTL_MACHINE_IDS 10000000u
#define PTL_MACHINE_MAX 428u /* the highest index */

/* What a blob holds. */
enum ptl_blob_type {
	PTL_BLOB_CODE = 1,    /* bytes of an executable range */
	PTL_BLOB_SYMBOLS = 2, /* a symbol table: ptl/symbols.h */
	PTL_BLOB_DEBUG = 3,   /* an ELF file that holds debug information */
	PTL_BLOB_FILE = 4,    /* any other file; an attachment says what it is */
};

#define PTL_ATTACHMENT_ID_MAX 64

/* What an attached file is for. */
enum ptl_attachment_kind {
	PTL_ATTACHMENT_JIT = 1, /* names of code that a process made: a perf map or a jitdump */
	PTL_ATTACHMENT_SHARED =
		2, /* debug information that debug files share: its build id is in their .gnu_debugaltlink */
	PTL_ATTACHMENT_SPLIT = 3, /* a .dwo file of split DWARF: id is the 8 bytes of its dwo_id, the lowest first */
	/*
	 * What was found after the images had been reported, of those with the build id that is id: their symbols, a blob
	 * of the type PTL_BLOB_SYMBOLS, and their debug information, one of PTL_BLOB_DEBUG.
	 */
	PTL_ATTACHMENT_SYMBOLS = 4,
	PTL_ATTACHMENT_DEBUG = 5,
	/*
	 * No file, and no blob: a range of addresses that Intel PT was filtered by. name is the file in which the range lies, ""
	 * for none; pid is 0, of the machine whose packets they are; id has three numbers of 8 bytes, the lowest byte first: 1 for
	 * "packets come from here" or 2 for "packets end here", the offset in the file or the address, and the size.
	 */
	PTL_ATTACHMENT_PT_FILTER = 6,
};

/* A file as it was on the machine that was recorded, whole: a blob of the type PTL_BLOB_FILE, if its kind says no other. */
struct ptl_attachment {
	uint32_t kind; /* enum ptl_attachment_kind, or a newer one */
	uint32_t pid;  /* whose it is; PTL_NO_ID: of no process */
	const char *name;
	uint8_t hash[PTL_HASH_SIZE];
	uint8_t id[PTL_ATTACHMENT_ID_MAX]; /* by which other files refer to it */
	size_t id_size;                    /* 0: none */
};

/* Why something is missing. Losses survive every rewriting of the trace. */
enum ptl_loss_kind {
	PTL_LOSS_BUFFERS = 1, /* buffers of a stream that could not be written */
	PTL_LOSS_BYTES = 2,   /* PT bytes */
	PTL_LOSS_EVENTS = 3,
	PTL_LOSS_THREAD = 4,  /* a thread that ran, or ran on, untraced */
	PTL_LOSS_PROCESS = 5, /* a process that could not be followed */
	PTL_LOSS_CODE = 6,    /* code bytes that could not be read */
	PTL_LOSS_SYMBOLS = 7,
	PTL_LOSS_END = 8, /* the recording ended before what it recorded */
	PTL_LOSS_CUT = 9, /* removed on purpose by a rewriting */
};

struct ptl_loss {
	uint32_t kind;   /* enum ptl_loss_kind */
	uint32_t stream; /* PTL_NO_ID: none */
	uint32_t pid;    /* PTL_NO_ID: none */
	uint32_t tid;
	uint64_t count; /* buffers, events, ... as the kind says */
	uint64_t bytes;
	uint64_t first_time; /* 0: unknown */
	uint64_t last_time;
	const char *cause; /* UTF-8 text for people, e.g. "no space left on device" */
	/* Of PTL_LOSS_CUT, by which parts of one recording are known that are put together again: */
	uint8_t recording[16]; /* names it; all zero: not known */
	uint64_t kept_first;   /* what was kept has these times, both inclusive */
	uint64_t kept_last;    /* UINT64_MAX: to the end */
	uint64_t known;        /* processes, threads and images are complete from here on; before it stands rundown */
};

/* What names the bytes of an input. */
enum ptl_hash_kind {
	PTL_HASH_XXH128, /* xxHash's XXH3 with 128 bits, seed 0, in its canonical form: what xxh128sum prints */
	PTL_HASH_SHA256,
	PTL_HASH_NONE, /* nobody hashed it */
};

struct ptl_provenance_input {
	const char *name;
	uint64_t size;
	enum ptl_hash_kind hash_kind;
	uint8_t hash[PTL_HASH_SIZE]; /* of PTL_HASH_XXH128 the first 16 */
};

/* One step of a trace's life: who wrote it, from what. */
struct ptl_provenance {
	const char *tool;    /* "ptl-record" */
	const char *version; /* "0.1.0" */
	const char *command; /* the command line, shell-quoted */
	int64_t wall_time;   /* nanoseconds since 1970 UTC */
	const char *rules;   /* text of the rules, or "" */
	/* Inputs: names and hashes of the files that were read. */
	size_t inputs;
	const struct ptl_provenance_input *input;
	/* Rules that matched nothing, a line each: "private.rules:3:1: this rule matched no event"; or "". */
	const char *unmatched;
};

#ifdef __cplusplus
}
#endif

#endif
