/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes socket addresses as text. */
#include "import/etl/socket.h"

#include <arpa/inet.h>

#include "common/text/text.h"

/* Address families of Windows, and layouts. All members except family and scope are in network byte order. */
#define FAMILY_IPV4 2u
#define FAMILY_IPV6 23u
#define PORT_AT 2
#define IPV4_AT 4
#define IPV4_SIZE 8u
#define IPV6_AT 8
#define IPV6_SIZE 24u
#define SCOPE_AT 24u

static unsigned load_port(const uint8_t *address)
{
	return (unsigned)address[PORT_AT] << 8 | address[PORT_AT + 1];
}

void etl_socket_write(const uint8_t *address, size_t size, struct ptl_bytes *out)
{
	const unsigned family = size >= 2 ? common_load16(address) : 0;
	char text[INET6_ADDRSTRLEN];

	if (family == FAMILY_IPV4 && size >= IPV4_SIZE) {
		inet_ntop(AF_INET, address + IPV4_AT, text, sizeof(text));
		common_text_format(out, "%s:%u", text, load_port(address));
	} else if (family == FAMILY_IPV6 && size >= IPV6_SIZE) {
		const uint32_t scope = size >= SCOPE_AT + 4 ? common_load32(address + SCOPE_AT) : 0;

		inet_ntop(AF_INET6, address + IPV6_AT, text, sizeof(text));
		common_text_format(out, "[%s", text);
		if (scope)
			common_text_format(out, "%%%u", scope);
		common_text_format(out, "]:%u", load_port(address));
	} else if (size) {
		common_text_add(out, "0x");
		common_text_hex_bytes(out, address, size);
	}
	common_write_le(out, 0, 1);
}
