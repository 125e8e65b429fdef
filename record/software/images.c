/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/software/images.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "record/image/image_store.h"
#include "record/proc/maps.h"

static int read_image(struct record_capture *capture, uint32_t pid, struct record_map_entry *entry)
{
	const struct record_mapping mapping = {
		.pid = pid,
		.base = entry->base,
		.size = entry->end - entry->base,
		.file_offset = entry->file_offset,
		.device = entry->device,
		.inode = entry->inode,
		.protection = PROT_READ | PROT_EXEC,
		.path = entry->path,
		.path_length = strlen(entry->path),
	};
	struct ptl_image_event image;

	return record_image_store_add(capture->images, &mapping, &image);
}

int software_images_read(struct record_capture *capture, uint32_t pid)
{
	static struct record_map_entry entry;
	char root[64];
	struct record_maps maps;
	int status = 0;

	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	record_maps_open(&maps, pid);
	while (status == 0 && record_maps_next(&maps, &entry)) {
		if (!entry.executable || !entry.path[0] || entry.deleted)
			continue;
		record_maps_check(root, &entry);
		if (!entry.deleted)
			status = read_image(capture, pid, &entry);
	}
	record_maps_close(&maps);
	return status;
}
