/* SPDX-License-Identifier: BSD-2-Clause */
/* How processes ended, how memory is protected and what was lost, in words. */
#ifndef DUMP_PRINT_STATUS_H
#define DUMP_PRINT_STATUS_H

#include <stdint.h>

#include "common/bytes.h"

/* "exit 0", "SIGSEGV", "SIGABRT, core dumped": status is as wait(2) encodes it. */
void dump_text_exit_status(struct ptl_bytes *text, int32_t status);

/* The signal's name, "SIGSEGV" or "signal 40"; NULL where status is no death by a signal. */
const char *dump_signal_name(int32_t status, char room[16]);

/* "r-x": protection has the PROT_ bits of mmap(2). */
const char *dump_protection(uint32_t protection, char room[4]);

/* "events", "thread not traced", ...: never NULL; kind is an enum ptl_loss_kind. */
const char *dump_loss_name(uint32_t kind);

#endif
