/* SPDX-License-Identifier: BSD-2-Clause */
/* The file that single_step writes and flow_compare reads: the executed instructions of each thread. Little-endian. */
#ifndef TESTS_TOOLS_STEP_FILE_H
#define TESTS_TOOLS_STEP_FILE_H

#include <stdint.h>

#define STEP_MAGIC 0x3150455453313230ull

/* The file is STEP_MAGIC, then threads in order of their start. `count` addresses of 8 bytes follow each header. */
struct step_thread {
	uint32_t pid;
	uint32_t tid;
	uint32_t cut;    /* 1: the thread was killed by --most; its last instructions are missing */
	uint32_t killed; /* 1: SIGKILL ended the thread; how far the thread came differs in each run */
	uint64_t count;
};

#endif
