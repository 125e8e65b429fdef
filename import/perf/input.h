/* SPDX-License-Identifier: BSD-2-Clause */
/* perf.data as an input of ptl-relog: what perf record wrote, to a file or to a pipe. */
#ifndef IMPORT_PERF_INPUT_H
#define IMPORT_PERF_INPUT_H

#include <stdint.h>

#include "elf/image_store.h"
#include "import/spool.h"

/* What an import reports. */
struct perf_outcome {
	uint64_t lost_events;
	uint64_t unknown_records; /* of types that no perf has yet */
	uint64_t other_files;     /* mappings whose file on this machine is another one */
	uint64_t absent_files;    /* or is not there */
	uint64_t cut_stacks;      /* samples of which the outermost calls are not known */
	uint64_t left_features;   /* tables of the header, or entries of them, that are damaged or too large */
	uint64_t lone_stacks;     /* samples with a copy of the stack, and without registers */
	char damage[512];         /* why the rest could not be read; "": it could */
};

/*
 * Makes processes, threads, mappings and context switches events of the kernel's classes, keeps all other records
 * as events of the provider Linux-Perf, Intel PT as streams, and takes code and symbols from the files of this
 * machine that are the very ones that were mapped. A file that ends within a record, or has a damaged one, is read
 * up to there: the rest is a loss record and a warning.
 *
 * The file is fd, called name in provenance; if name is a folder, the files data.0, data.1, ... there are read, too.
 * PTL_NOT_OURS, PTL_UNSUPPORTED, PTL_NO_MEMORY, PTL_SYSTEM, PTL_CANCELLED. *outcome is set in any case.
 */
int perf_import(const char *name, int fd, enum elf_embed embed, struct import_spool *spool,
		struct perf_outcome *outcome);

#endif
