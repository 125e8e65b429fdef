/* SPDX-License-Identifier: BSD-2-Clause */
/* Code of the kernel for perf: the folder of perf record --kcore, and records of code that is made or changed. */
#ifndef DUMP_EXPORT_PERF_PERF_KERNEL_H
#define DUMP_EXPORT_PERF_PERF_KERNEL_H

#include <ptl/kernel.h>
#include <ptl/reader.h>
#include <ptl/symbols.h>

#include "common/hash_map.h"
#include "dump/export/perf/perf_cache.h"

struct dump_perf_kernel_image;
struct dump_perf_bpf_program;

/* Zero-initialised: empty. */
struct dump_perf_kernel {
	uint32_t machine;                      /* index of a virtual machine; 0: the kernel of the trace's machine */
	struct dump_perf_kernel_image *images; /* owned */
	size_t count;
	struct common_byte_map by_place;        /* time and address: index in images */
	struct common_byte_map records;         /* times and addresses of KSYMBOL and TEXT_POKE records in the trace */
	struct dump_perf_bpf_program *programs; /* owned; BPF programs with records in the trace */
	size_t program_count;
	struct dump_perf_bpf_load *loads; /* owned; loads of BPF programs */
	size_t load_count;
};

/*
 * Adds an image of process 0 that an event maps. symbols: as in dump_perf_cache_add. old: the image lies in memory since
 * before the recording. Returns 0, PTL_NO_MEMORY.
 */
int dump_perf_kernel_add(struct dump_perf_kernel *kernel, const struct ptl_event *event,
			 const struct ptl_image_event *image, const struct ptl_symbol_table *symbols, bool old);
/* Adds a change of code: the first bytes of an image that was made without bytes. */
void dump_perf_kernel_fill(struct dump_perf_kernel *kernel, const struct ptl_image_event *code);
/* Adds an event of Linux-Perf: KSYMBOL, BPF_EVENT or TEXT_POKE. Other events are ignored. Returns 0, PTL_NO_MEMORY. */
int dump_perf_kernel_note(struct dump_perf_kernel *kernel, const struct ptl_event *event);
/* Finds the addresses of loaded BPF programs, after all events were noted. Returns 0, PTL_NO_MEMORY. */
int dump_perf_kernel_pair(struct dump_perf_kernel *kernel);
/* Writes the mappings of the old images. */
void dump_perf_kernel_map(const struct dump_perf_kernel *kernel, struct dump_perf_file *file);
/*
 * Writes records for code that the kernel made or changed, unless the trace has perf's own records of the code, or the
 * image is old. makes: the image is new; else existing code changed. *missing: increased if the code is nowhere.
 */
void dump_perf_kernel_change(const struct dump_perf_kernel *kernel, struct dump_perf_file *file,
			     const struct dump_perf_code *source, const struct ptl_event *event,
			     const struct ptl_image_event *image, bool makes, uint64_t *missing);
/*
 * Writes an event of Linux-Perf, if the event is the record of a BPF program. perf needs the program's KSYMBOL record
 * before the BPF_EVENT record. Returns false for other events.
 */
bool dump_perf_kernel_put(struct dump_perf_kernel *kernel, struct dump_perf_file *file, const struct ptl_event *event);
/* Appends the feature BPF_PROG_INFO, with the code of BPF programs; nothing without programs. */
void dump_perf_kernel_programs(const struct dump_perf_kernel *kernel, const struct dump_perf_code *source,
			       struct ptl_bytes *feature);
/* Whether the trace has code of the kernel. */
bool dump_perf_kernel_has_code(const struct dump_perf_kernel *kernel);
/*
 * Writes kcore, kallsyms and modules to folder/part, as "/kcore_dir". *missing: increased by the number of images without code.
 * Returns 0, PTL_SYSTEM or PTL_NO_MEMORY.
 */
int dump_perf_kernel_write(const struct dump_perf_kernel *kernel, const struct dump_perf_code *source,
			   const char *folder, const char *part, uint64_t *missing);
/*
 * Writes kallsyms to a build-id cache, so that perf has the kernel's names without kcore. Nothing without a build id of
 * the kernel. Returns 0, PTL_SYSTEM or PTL_NO_MEMORY.
 */
int dump_perf_kernel_cache(const struct dump_perf_kernel *kernel, const char *folder);
void dump_perf_kernel_free(struct dump_perf_kernel *kernel);

#endif
