/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace that ptl-relog writes: a file that appears whole or not at all, and how it came to be.
 */
#ifndef PTL_RELOG_OUTPUT_H
#define PTL_RELOG_OUTPUT_H

#include <stdbool.h>

#include <ptl/trace.h>
#include <ptl/writer.h>

#include "common/file.h"
#include "relog/settings.h"

struct relog_output {
	struct ptl_writer *writer;
	struct ptl_output_file file;
	bool to_stdout;
	struct ptl_provenance_input *input; /* names are the caller's */
	size_t inputs;
};

/*
 * Opens settings->output. minor: the format's minor version that the content needs, 0 for none
 * beyond ours. PTL_MISUSE (standard output is a terminal, an input is the output), PTL_SYSTEM,
 * PTL_NO_MEMORY.
 */
int relog_output_open(struct relog_output *output, const struct relog_settings *settings,
		      uint16_t minor);

/* Adds an input to the provenance record; name is kept by pointer. PTL_NO_MEMORY. */
int relog_output_add_input(struct relog_output *output, const char *name, uint64_t size,
			   const uint8_t hash[PTL_HASH_SIZE]);

/*
 * Writes the provenance record and the index, and puts the file into its place. On failure nothing
 * appears. The output is closed in both cases. PTL_SYSTEM, PTL_NO_MEMORY, PTL_CANCELLED.
 */
int relog_output_commit(struct relog_output *output, const struct relog_settings *settings);

/* Closes without leaving anything. Harmless after commit. */
void relog_output_abandon(struct relog_output *output);

/* From now on SIGINT, SIGTERM and SIGHUP are noted instead of ending the program. */
void relog_catch_signals(void);
/* PTL_CANCELLED once a signal has come, else 0. */
int relog_check_signals(void);
/* Ends the program by the signal that was noted, if any. */
void relog_die_of_signal(void);

#endif
