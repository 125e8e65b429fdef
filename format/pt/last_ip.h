/* SPDX-License-Identifier: BSD-2-Clause */
/* IP compression: an address relative to the last IP, in both directions. */
#ifndef FORMAT_PT_LAST_IP_H
#define FORMAT_PT_LAST_IP_H

#include <ptl/pt.h>

/*
 * The last IP is a plain 64-bit value, kept by the encoder or decoder of a stream: the address of the last TIP,
 * TIP.PGE, TIP.PGD or FUP with an address, and 0 at each PSB (SDM, section "IP Compression"). An OVF also sets the last
 * IP to 0, as the lost packets may have had addresses. The SDM does not specify this, but CPUs send the whole address
 * after an OVF, and libipt decodes in the same way.
 */

/* Returns the address of a packet with this form and payload; last: the last IP. form must not be PTL_PT_IP_NONE. */
static inline uint64_t format_pt_ip_expand(uint64_t last, unsigned form, uint64_t payload)
{
	switch (form) {
	case PTL_PT_IP_UPDATE_16:
		return (last & ~0xffffull) | payload;
	case PTL_PT_IP_UPDATE_32:
		return (last & ~0xffffffffull) | payload;
	case PTL_PT_IP_SIGN_48:
		return (uint64_t)((int64_t)(payload << 16) >> 16);
	case PTL_PT_IP_UPDATE_48:
		return (last & ~0xffffffffffffull) | payload;
	default:
		return payload;
	}
}

/*
 * Returns the form that a CPU would choose for `ip` after `last`: the shortest form, except that nothing is compressed
 * against 0, the last IP at a PSB. A canonical address that differs in bits 47:32 gets the sign-extended form, as from
 * CPUs; the 48-bit update remains for addresses of 57-bit linear space.
 */
static inline unsigned format_pt_ip_compress(uint64_t last, uint64_t ip)
{
	uint64_t difference = last ^ ip;

	if (last && !(difference >> 16))
		return PTL_PT_IP_UPDATE_16;
	if (last && !(difference >> 32))
		return PTL_PT_IP_UPDATE_32;
	if ((uint64_t)((int64_t)(ip << 16) >> 16) == ip)
		return PTL_PT_IP_SIGN_48;
	return difference >> 48 ? PTL_PT_IP_FULL : PTL_PT_IP_UPDATE_48;
}

#endif
