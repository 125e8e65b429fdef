/* SPDX-License-Identifier: BSD-2-Clause */
/* Words for exit statuses and memory protections. */
#ifndef DUMP_PRINT_STATUS_H
#define DUMP_PRINT_STATUS_H

#include <stdint.h>

#include "common/bytes.h"

/* Appends "exit 0", "SIGSEGV" or "SIGABRT, core dumped". status: as in wait(2). */
void dump_text_exit_status(struct ptl_bytes *text, int32_t status);

/* Returns the signal's name, "SIGSEGV" or "signal 40"; NULL if no signal ended the process. */
const char *dump_signal_name(int32_t status, char room[16]);

/* Returns "r-x". protection: PROT_ bits of mmap(2). */
const char *dump_protection(uint32_t protection, char room[4]);

#endif
