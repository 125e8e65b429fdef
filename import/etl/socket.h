/* SPDX-License-Identifier: BSD-2-Clause */
/* Socket addresses of Windows: SOCKADDR_IN and SOCKADDR_IN6. */
#ifndef IMPORT_ETL_SOCKET_H
#define IMPORT_ETL_SOCKET_H

#include "common/bytes.h"

/*
 * Writes "127.0.0.1:80" or "[fe80::1%5]:443", zero-terminated. Writes the bytes of another address family as
 * "0x1100...".
 */
void etl_socket_write(const uint8_t *address, size_t size, struct ptl_bytes *out);

#endif
