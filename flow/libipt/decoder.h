/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libipt's block and instruction decoders have equal functions with different prefixes. A macro adapts both decoders.
 */
#ifndef FLOW_LIBIPT_DECODER_H
#define FLOW_LIBIPT_DECODER_H

#include "flow/libipt/engine.h"

/*
 * Defines the parts of an engine that depend on libipt's decoder with functions pt_PREFIX_: `adapter`, a struct
 * libipt_decoder with the additional members, and the engine's open function.
 */
#define LIBIPT_DECODER(prefix, ...)                                                                                    \
	static void *alloc_decoder(const struct pt_config *config)                                                     \
	{                                                                                                              \
		return pt_##prefix##_alloc_decoder(config);                                                            \
	}                                                                                                              \
	static void free_decoder(void *decoder)                                                                        \
	{                                                                                                              \
		pt_##prefix##_free_decoder(decoder);                                                                   \
	}                                                                                                              \
	static int sync_decoder(void *decoder, uint64_t offset)                                                        \
	{                                                                                                              \
		return pt_##prefix##_sync_set(decoder, offset);                                                        \
	}                                                                                                              \
	static int set_image(void *decoder, struct pt_image *image)                                                    \
	{                                                                                                              \
		return pt_##prefix##_set_image(decoder, image);                                                        \
	}                                                                                                              \
	static int next_event(void *decoder, struct pt_event *event)                                                   \
	{                                                                                                              \
		return pt_##prefix##_event(decoder, event, sizeof(*event));                                            \
	}                                                                                                              \
	static int current_time(void *decoder, uint64_t *tsc)                                                          \
	{                                                                                                              \
		uint32_t lost_mtc, lost_cyc; /* libipt 2.1 refuses NULL */                                             \
		return pt_##prefix##_time(decoder, tsc, &lost_mtc, &lost_cyc);                                         \
	}                                                                                                              \
	static int current_offset(void *decoder, uint64_t *offset)                                                     \
	{                                                                                                              \
		return pt_##prefix##_get_offset(decoder, offset);                                                      \
	}                                                                                                              \
	static const struct libipt_decoder adapter = {                                                                 \
		.alloc = alloc_decoder,                                                                                \
		.free = free_decoder,                                                                                  \
		.sync = sync_decoder,                                                                                  \
		.set_image = set_image,                                                                                \
		.event = next_event,                                                                                   \
		.time = current_time,                                                                                  \
		.offset = current_offset,                                                                              \
		__VA_ARGS__,                                                                                           \
	};                                                                                                             \
	static int open_engine(struct flow_code *code, const struct ptl_machine *machine, struct flow_engine **engine) \
	{                                                                                                              \
		return libipt_open(&adapter, code, machine, engine);                                                   \
	}

#endif
