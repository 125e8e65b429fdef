/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the time of a host behind a PSB+ of a guest, whose TSC may have an offset. */
#ifndef IMPORT_HOST_TIME_H
#define IMPORT_HOST_TIME_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/trace.h>

/* maximum nanoseconds between times of the host and a guest's PSB without an offset */
#define IMPORT_GUEST_PSB_WITHIN 1000000000u

/*
 * Returns the time of the host's first TSC packet. data: begins with the PSB of a PSB+ of a guest. 0: the bytes have no such
 * packet.
 */
uint64_t import_host_time(const struct ptl_machine *machine, const uint8_t *data, size_t size);

#endif
