/* SPDX-License-Identifier: BSD-2-Clause */
/* Losses of an import of perf.data that belong to no stream, process or thread. */
#ifndef IMPORT_PERF_LOSS_H
#define IMPORT_PERF_LOSS_H

#include <ptl/writer.h>

/*
 * Writes a loss; nothing if count is 0. kind: PTL_LOSS_...; time: of the first lost data; 0: unknown. Returns the status of
 * ptl_writer_loss.
 */
int perf_lose(struct ptl_writer *writer, uint32_t kind, uint64_t count, uint64_t time, const char *cause);

#endif
