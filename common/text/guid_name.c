/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GUID that .NET's EventSource derives from a name: the first 16 bytes of the SHA-1 of a namespace and the
 * upper-case name in UTF-16, high byte first. The version is set to 5 as in RFC 4122. Deviating from RFC 4122, the
 * bytes are used in the GUID's memory order, and the variant is left unchanged.
 */
#include <string.h>

#include <ptl/error.h>

#include "common/bytes.h"
#include "common/text/guid.h"
#include "common/text/utf8.h"

static const uint8_t name_space[16] = {0x48, 0x2c, 0x2d, 0xb2, 0xc3, 0x90, 0x47, 0xc8,
				       0x87, 0xf8, 0x1a, 0x15, 0xbf, 0xc1, 0x30, 0xfb};

/* SHA-1 as in FIPS 180-4. Used for identity, not for security. */
struct sha1 {
	uint32_t state[5];
	uint64_t size;
	uint8_t block[64];
};

static uint32_t rotate(uint32_t value, unsigned bits)
{
	return value << bits | value >> (32 - bits);
}

static uint32_t sha1_mix(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
	switch (round / 20) {
	case 0:
		return ((b & c) | (~b & d)) + 0x5a827999;
	case 1:
		return (b ^ c ^ d) + 0x6ed9eba1;
	case 2:
		return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
	default:
		return (b ^ c ^ d) + 0xca62c1d6;
	}
}

static void add_sha1_block(struct sha1 *sha1)
{
	uint32_t w[80], a = sha1->state[0], b = sha1->state[1], c = sha1->state[2], d = sha1->state[3],
			e = sha1->state[4];

	for (unsigned i = 0; i < 16; i++)
		w[i] = __builtin_bswap32(common_load32(sha1->block + 4 * (size_t)i));
	for (unsigned i = 16; i < 80; i++)
		w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (unsigned i = 0; i < 80; i++) {
		uint32_t next = rotate(a, 5) + sha1_mix(i, b, c, d) + e + w[i];

		e = d;
		d = c;
		c = rotate(b, 30);
		b = a;
		a = next;
	}
	sha1->state[0] += a;
	sha1->state[1] += b;
	sha1->state[2] += c;
	sha1->state[3] += d;
	sha1->state[4] += e;
}

static void add_byte(struct sha1 *sha1, uint8_t byte)
{
	sha1->block[sha1->size++ % 64] = byte;
	if (sha1->size % 64 == 0)
		add_sha1_block(sha1);
}

static void add_unit(struct sha1 *sha1, uint32_t unit)
{
	add_byte(sha1, (uint8_t)(unit >> 8));
	add_byte(sha1, (uint8_t)unit);
}

static void finish_digest(struct sha1 *sha1, uint8_t digest[16])
{
	uint64_t bits = 8 * sha1->size;

	add_byte(sha1, 0x80);
	while (sha1->size % 64 != 56)
		add_byte(sha1, 0);
	for (int shift = 56; shift >= 0; shift -= 8)
		add_byte(sha1, (uint8_t)(bits >> shift));
	for (unsigned i = 0; i < 16; i++)
		digest[i] = (uint8_t)(sha1->state[i / 4] >> (24 - 8 * (i % 4)));
}

int ptl_guid_from_name(const char *name, struct ptl_guid *guid)
{
	struct sha1 sha1 = {{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}, 0, {0}};
	const uint8_t *at = (const uint8_t *)name;
	size_t left = strlen(name);
	uint32_t character;

	for (size_t i = 0; i < sizeof(name_space); i++)
		add_byte(&sha1, name_space[i]);
	while (left) {
		size_t size = common_utf8_read(at, left, &character);

		if (!size)
			return PTL_MISUSE;
		at += size;
		left -= size;
		if (character >= 'a' && character <= 'z')
			character -= 'a' - 'A';
		if (character < 0x10000) {
			add_unit(&sha1, character);
		} else {
			add_unit(&sha1, 0xd800 + ((character - 0x10000) >> 10));
			add_unit(&sha1, 0xdc00 + (character & 0x3ff));
		}
	}
	finish_digest(&sha1, guid->bytes);
	guid->bytes[7] = (guid->bytes[7] & 0x0f) | 0x50;
	return 0;
}
