/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the time of a host behind a PSB+ of a guest, whose TSC may have an offset. */
#ifndef IMPORT_HOST_TIME_H
#define IMPORT_HOST_TIME_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/trace.h>

/*
 * Returns the time of the host's first TSC packet. data: begins with the PSB of a PSB+ of a guest. 0: the bytes have no such
 * packet.
 */
uint64_t import_host_time(const struct ptl_machine *machine, const uint8_t *data, size_t size);

#endif
