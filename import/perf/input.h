/* SPDX-License-Identifier: BSD-2-Clause */
/* perf.data as an input of ptl-relog: output of perf record, to a file or to a pipe. */
#ifndef IMPORT_PERF_INPUT_H
#define IMPORT_PERF_INPUT_H

#include <stdint.h>

#include "elf/image_store.h"
#include "import/perf/left_out.h"
#include "import/spool.h"

#define PERF_CAUSE_SIZE 1000
#define PERF_KERNEL_LOSSES 9

/* Findings of an import. */
struct perf_outcome {
	uint64_t lost_events;
	uint64_t unknown_records; /* records of unknown types */
	uint64_t other_files;     /* mappings whose file exists on this machine in another version */
	uint64_t absent_files;    /* mappings whose file does not exist on this machine */
	uint64_t cut_stacks;      /* samples whose outermost calls are unknown */
	uint64_t left_features;   /* header tables, or their entries, that are damaged or too large */
	uint64_t damaged_records; /* records of the kernel that are too short */
	uint64_t large_events;    /* samples that exceed PTL_PAYLOAD_MAX as events */
	uint64_t lone_stacks;     /* samples with a stack copy, but without registers */
	struct perf_left_out left_out;
	/* causes of missing code of the kernels, up to a limit */
	char kernel_losses[PERF_KERNEL_LOSSES][PERF_CAUSE_SIZE];
	size_t kernel_loss_count;
	size_t files;             /* files of a series that were read */
	char damaged_record[256]; /* place and cause of the first damaged record */
	char damage[512];         /* why the rest could not be read; "": everything was read */
};

/* Files to convert, and where their code comes from. */
struct perf_input {
	const char *const *names; /* names in provenance; the first may be a folder */
	const int *fds;
	size_t count; /* the others may continue the first (perf record --switch-output) */
	enum elf_embed embed;
	const char *cache; /* folder of a build-id cache, which is searched before ~/.debug; NULL: none */
	bool guest_code;   /* virtual machines execute the user code of the process that runs them */
};

/*
 * Converts a perf.data file, and the files of the same series.
 * - Processes, threads, mappings and context switches become events of the kernel's classes.
 * - All other records become events of the provider Linux-Perf.
 * - Intel PT becomes streams.
 * - Code and symbols come from the files of this machine, if they are exactly the mapped files.
 * A file that ends within a record, or has a record of an impossible size, is read up to there. The rest becomes a loss
 * record and a warning, as do records of the kernel that are too short for what they describe.
 *
 * If the name is a folder, its files data.0, data.1, ... are read, too, and its kcore_dir. Stops before the first file
 * that does not continue its predecessor: outcome->files tells.
 * Returns PTL_NOT_OURS, PTL_UNSUPPORTED, PTL_NO_MEMORY, PTL_SYSTEM, PTL_CANCELLED. *outcome is set in any case.
 */
int perf_import(const struct perf_input *input, struct import_spool *spool, struct perf_outcome *outcome);

#endif
