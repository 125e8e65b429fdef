/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/software/images.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "record/image/image_store.h"
#include "record/proc/maps.h"

#define LINE_ROOM 4352

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
	char path[64], root[64], line[LINE_ROOM];
	FILE *file;
	int status = 0;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	file = fopen(path, "re");
	while (status == 0 && file && fgets(line, sizeof(line), file)) {
		if (!record_maps_parse(line, &entry) || !entry.executable || !entry.path[0] || entry.deleted)
			continue;
		record_maps_check(root, &entry);
		if (!entry.deleted)
			status = read_image(capture, pid, &entry);
	}
	if (file)
		fclose(file);
	return status;
}
