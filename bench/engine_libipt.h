/* SPDX-License-Identifier: BSD-2-Clause */
/* libipt's block decoder of a subject: with libipt's image alone, or with the image section cache as in ptxed. */
#ifndef BENCH_ENGINE_LIBIPT_H
#define BENCH_ENGINE_LIBIPT_H

#include <intel-pt.h>
#include <sys/mman.h>

#include "bench/engine_subject.h"

#define SECTION_LIMIT ((uint64_t)1 << 30) /* size of libipt's cache: holds all code */

struct libipt {
	struct pt_block_decoder *decoder;
	struct pt_image *image;
	struct pt_image_section_cache *cache; /* NULL: no cache */
};

static void add_section(struct libipt *libipt, const char *path, const struct range *range)
{
	int status;

	if (libipt->cache) {
		status = pt_iscache_add_file(libipt->cache, path, range->offset, range->size, range->base);
		if (status > 0)
			status = pt_image_add_cached(libipt->image, libipt->cache, status, NULL);
	} else {
		status = pt_image_add_file(libipt->image, path, range->offset, range->size, NULL, range->base);
	}
	if (status < 0)
		die("libipt image");
}

static void open_libipt(struct libipt *libipt, struct subject *subject, bool cached)
{
	struct pt_config config;
	char path[64];

	pt_config_init(&config);
	config.begin = subject->pt;
	config.end = subject->pt + subject->pt_size;
	libipt->decoder = pt_blk_alloc_decoder(&config);
	libipt->image = pt_image_alloc(NULL);
	libipt->cache = cached ? pt_iscache_alloc(NULL) : NULL;
	if (!libipt->decoder || !libipt->image || (cached && !libipt->cache))
		die("libipt");
	if (cached && pt_iscache_set_limit(libipt->cache, SECTION_LIMIT) < 0)
		die("libipt's section cache");
	subject->code_file = memfd_create("code", 0);
	if (subject->code_file < 0 || common_write_all(subject->code_file, subject->code, subject->code_size) < 0)
		die("memory file");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", subject->code_file);
	for (size_t i = 0; i < subject->range_count; i++)
		add_section(libipt, path, &subject->ranges[i]);
	pt_blk_set_image(libipt->decoder, libipt->image);
}

static void close_libipt(struct libipt *libipt)
{
	pt_blk_free_decoder(libipt->decoder);
	pt_image_free(libipt->image);
	pt_iscache_free(libipt->cache);
}

#endif
