/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts records of equal size to planes, one plane per byte of the record, and back. Transposing works both ways. */
#ifndef FORMAT_EVENT_PLANES_H
#define FORMAT_EVENT_PLANES_H

#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Transposes 8x8 bytes: byte `from` + i of in[k] becomes byte k at out + i * stride. */
#ifdef __SSE2__
static inline void format_transpose_8x8(const uint8_t *const in[8], size_t from, uint8_t *out, size_t stride)
{
	__m128i a[4], b[4];

	/* Three rounds of interleaving, all in registers. */
#pragma GCC unroll 4
	for (int k = 0; k < 4; k++)
		a[k] = _mm_unpacklo_epi8(_mm_loadl_epi64((const void *)(in[2 * k] + from)),
					 _mm_loadl_epi64((const void *)(in[2 * k + 1] + from)));
	b[0] = _mm_unpacklo_epi16(a[0], a[1]);
	b[1] = _mm_unpackhi_epi16(a[0], a[1]);
	b[2] = _mm_unpacklo_epi16(a[2], a[3]);
	b[3] = _mm_unpackhi_epi16(a[2], a[3]);
	a[0] = _mm_unpacklo_epi32(b[0], b[2]);
	a[1] = _mm_unpackhi_epi32(b[0], b[2]);
	a[2] = _mm_unpacklo_epi32(b[1], b[3]);
	a[3] = _mm_unpackhi_epi32(b[1], b[3]);
#pragma GCC unroll 4
	for (int k = 0; k < 4; k++) {
		_mm_storel_epi64((void *)(out + 2 * (size_t)k * stride), a[k]);
		_mm_storel_epi64((void *)(out + (2 * (size_t)k + 1) * stride), _mm_srli_si128(a[k], 8));
	}
}
#else
static inline void format_transpose_8x8(const uint8_t *const in[8], size_t from, uint8_t *out, size_t stride)
{
	for (size_t i = 0; i < 8; i++)
		for (size_t k = 0; k < 8; k++)
			out[i * stride + k] = in[k][from + i];
}
#endif

#endif
