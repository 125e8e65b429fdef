/* SPDX-License-Identifier: BSD-2-Clause */
/* Executable memory over time: what is mapped, what is found, and code no file has. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/qemu/plugin/encoder.h"
#include "record/process/maps.h"
#include "record/qemu/plugin/plugin.h"

static uint64_t page_up(uint64_t value)
{
	return (value + PLUGIN_PAGE - 1) & ~(PLUGIN_PAGE - 1);
}

/*
 * Begins a new version of the address space: later than every segment that was begun in the old
 * one, and every thread begins a new segment at its next block.
 */
static void begin_change(struct qemu_slot *slot)
{
	uint64_t time = plugin_encoder_now(slot, &plugin.config);

	if (time <= plugin.psb_time)
		time = plugin.psb_time + 1;
	if (time < plugin.change_time)
		time = plugin.change_time;
	plugin.change_time = time;
	__atomic_store_n(&plugin.epoch, plugin.epoch + 1, __ATOMIC_RELEASE);
	plugin_thread_call_all();
}

static void send_code(struct qemu_slot *slot, uint64_t address, const uint8_t *bytes, size_t size)
{
	struct qemu_message_code message = {
		.header = {.type = QEMU_MSG_CODE, .time = plugin.change_time},
		.base = address,
		.epoch = plugin.epoch,
		.length = (uint32_t)size,
	};

	plugin_send(slot, &message.header, sizeof(message), bytes, size);
}

/* Code that was sent before the memory became executable again has not been translated again: sends
 * it again. */
static void send_known(struct qemu_slot *slot, uint64_t base, uint64_t end)
{
	for (uint64_t address = base; address < end; address += PLUGIN_PAGE) {
		const struct plugin_page *page = plugin_space_page(&plugin.space, address);
		size_t run = 0;

		for (size_t i = 0; page && i <= PLUGIN_PAGE; i++) {
			if (i < PLUGIN_PAGE && page->known[i / 8] >> i % 8 & 1)
				continue;
			if (i > run)
				send_code(slot, address + run, page->bytes + run, i - run);
			run = i + 1;
		}
	}
}

/* Announces an image in the current epoch and learns whether its bytes must be sent as they are
 * executed. */
static void send_image(struct qemu_slot *slot, struct plugin_image *image)
{
	struct qemu_message_image message = {
		.header = {.type = QEMU_MSG_IMAGE_MAP, .time = plugin.change_time},
		.base = image->base,
		.size = image->end - image->base,
		.file_offset = image->file_offset,
		.device = image->device,
		.inode = image->inode,
		.epoch = plugin.epoch,
		.protection = image->protection,
		.flags = image->flags,
		.path_length = image->path ? (uint32_t)strlen(image->path) : 0,
	};
	uint32_t must_send = QEMU_IMAGE_ANONYMOUS | QEMU_IMAGE_DELETED | QEMU_IMAGE_WRITABLE;

	image->have = false;
	if (image->flags & must_send)
		plugin_send(slot, &message.header, sizeof(message), image->path, message.path_length);
	else
		image->have = plugin_request(slot, &message.header, sizeof(message), image->path,
					     message.path_length) != QEMU_IMAGE_REPLY_NONE;
}

static void send_unmap(struct qemu_slot *slot, uint64_t base, uint64_t end)
{
	struct qemu_message_unmap message = {
		.header = {.type = QEMU_MSG_IMAGE_UNMAP, .time = plugin.change_time},
		.base = base,
		.size = end - base,
		.epoch = plugin.epoch,
	};

	plugin_send(slot, &message.header, sizeof(message), NULL, 0);
}

static void send_protect(struct qemu_slot *slot, const struct plugin_image *image)
{
	struct qemu_message_protect message = {
		.header = {.type = QEMU_MSG_IMAGE_PROTECT, .time = plugin.change_time},
		.base = image->base,
		.size = image->end - image->base,
		.epoch = plugin.epoch,
		.protection = image->protection,
	};

	plugin_send(slot, &message.header, sizeof(message), NULL, 0);
}

void plugin_mapping_begin(struct qemu_slot *slot)
{
	begin_change(slot);
}

void plugin_mapping_add(struct qemu_slot *slot, struct plugin_image *image)
{
	image->executable = true;
	begin_change(slot);
	if (plugin_space_add(&plugin.space, image)) {
		plugin_note(slot, 1, "no memory for the image at %#llx", (unsigned long long)image->base);
		return;
	}
	send_image(slot, plugin_space_find(&plugin.space, image->base));
}

static void remove_range(struct qemu_slot *slot, uint64_t base, uint64_t end)
{
	if (!plugin_space_remove(&plugin.space, base, end))
		return;
	begin_change(slot);
	send_unmap(slot, base, end);
}

/* What /proc/self/maps says of the memory at base, cut to [base, end). */
static bool image_from_maps(uint64_t base, uint64_t end, struct record_map_entry *entry, struct plugin_image *image)
{
	if (!record_maps_find(base, entry))
		return false;
	*image = (struct plugin_image){
		.base = base,
		.end = entry->end < end ? entry->end : end,
		.file_offset = entry->path[0] ? entry->file_offset + (base - entry->base) : 0,
		.device = entry->path[0] ? entry->device : 0,
		.inode = entry->path[0] ? entry->inode : 0,
		.path = entry->path[0] ? entry->path : NULL,
		.flags = (entry->path[0] ? 0 : QEMU_IMAGE_ANONYMOUS) | (entry->deleted ? QEMU_IMAGE_DELETED : 0) |
			 (entry->shared ? QEMU_IMAGE_SHARED : 0) | (entry->writable ? QEMU_IMAGE_WRITABLE : 0),
	};
	return true;
}

/* Code is executed where no image is known: takes the whole mapping around it, as far as no other
 * image is. */
static struct plugin_image *find_image(struct qemu_slot *slot, uint64_t address)
{
	size_t index = plugin_space_index(&plugin.space, address);
	struct record_map_entry entry;
	struct plugin_image image;
	uint64_t page = address & ~(PLUGIN_PAGE - 1);

	if (index < plugin.space.count && plugin.space.images[index].base <= address) {
		/* Known, but not as executable: only QEMU sees a difference. Take it as it is. */
		plugin_space_split(&plugin.space, page);
		plugin_space_split(&plugin.space, page + PLUGIN_PAGE);

		struct plugin_image *part = plugin_space_find(&plugin.space, address);

		begin_change(slot);
		part->executable = true;
		part->protection |= PROT_EXEC;
		part->flags |= QEMU_IMAGE_FOUND;
		send_image(slot, part);
		send_known(slot, part->base, part->end);
		return part;
	}
	if (!image_from_maps(page, UINT64_MAX, &entry, &image))
		return NULL;
	image.base = entry.base;
	if (index > 0 && plugin.space.images[index - 1].end > image.base)
		image.base = plugin.space.images[index - 1].end;
	if (index < plugin.space.count && plugin.space.images[index].base < image.end)
		image.end = plugin.space.images[index].base;
	image.file_offset = image.path ? entry.file_offset + (image.base - entry.base) : 0;
	image.flags |= QEMU_IMAGE_FOUND;
	image.protection = PROT_READ | PROT_EXEC | (entry.writable ? PROT_WRITE : 0);
	plugin_mapping_add(slot, &image);
	return plugin_space_find(&plugin.space, address);
}

static void learn(struct qemu_slot *slot, uint64_t address, const uint8_t *bytes, size_t size)
{
	switch (plugin_space_learn(&plugin.space, address, bytes, size)) {
	case PLUGIN_LEARNED_NOTHING:
		break;
	case PLUGIN_LEARNED_CHANGE:
		begin_change(slot);
		send_code(slot, address, bytes, size);
		break;
	case PLUGIN_LEARNED_MORE:
	case PLUGIN_LEARNED_NO_MEMORY:
		send_code(slot, address, bytes, size);
		break;
	}
}

void plugin_mapping_translated(struct qemu_slot *slot, uint64_t start, const uint8_t *bytes, size_t size)
{
	while (size) {
		size_t piece = (size_t)(PLUGIN_PAGE - start % PLUGIN_PAGE);
		struct plugin_image *image = plugin_space_find(&plugin.space, start);

		if (piece > size)
			piece = size;
		if (!image || !image->executable)
			image = find_image(slot, start);
		if (image && !image->have)
			learn(slot, start, bytes, piece);
		start += piece;
		bytes += piece;
		size -= piece;
	}
}

/* ---- system calls --------------------------------------------------------------------------- */

static void describe_file(int fd, struct plugin_image *image, char *path, size_t path_size)
{
	struct stat status;
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);

	ssize_t length = readlink(link, path, path_size - 1);

	if (length < 0 || fstat(fd, &status)) {
		image->flags |= QEMU_IMAGE_DELETED;
		return;
	}
	path[length] = 0;
	image->path = path;
	image->device = status.st_dev;
	image->inode = status.st_ino;
	if (status.st_nlink == 0)
		image->flags |= QEMU_IMAGE_DELETED;
}

static void on_mmap(struct qemu_slot *slot, const uint64_t *args, uint64_t base)
{
	uint64_t end = base + page_up(args[1]);
	uint32_t protection = (uint32_t)args[2];
	char path[QEMU_CHANNEL_PATH_SIZE];
	struct plugin_image image = {.base = base, .end = end, .protection = protection};

	if (!(protection & PROT_EXEC)) {
		remove_range(slot, base, end);
		return;
	}
	if (args[3] & MAP_ANONYMOUS) {
		image.flags |= QEMU_IMAGE_ANONYMOUS;
	} else {
		image.file_offset = args[5];
		describe_file((int)args[4], &image, path, sizeof(path));
	}
	if ((args[3] & MAP_TYPE) != MAP_PRIVATE)
		image.flags |= QEMU_IMAGE_SHARED;
	if (protection & PROT_WRITE)
		image.flags |= QEMU_IMAGE_WRITABLE;
	plugin_mapping_add(slot, &image);
}

/* The memory and what is known of it move; what it holds is looked at again. */
static void on_mremap(struct qemu_slot *slot, const uint64_t *args, uint64_t base)
{
	uint64_t old = args[0], old_end = old + page_up(args[1]), size = page_up(args[2]);
	struct plugin_image *first = plugin_space_find(&plugin.space, old);
	char path[QEMU_CHANNEL_PATH_SIZE];
	struct plugin_image moved;

	if (!first || !first->executable) {
		remove_range(slot, old, old_end);
		if (base != old)
			remove_range(slot, base, base + size);
		return;
	}
	moved = *first;
	moved.file_offset += moved.path ? old - first->base : 0;
	moved.base = base;
	moved.end = base + size;
	if (moved.path) {
		snprintf(path, sizeof(path), "%s", moved.path);
		moved.path = path;
	}
	if (args[1] && !(args[3] & MREMAP_DONTUNMAP))
		remove_range(slot, old, old_end);
	plugin_mapping_add(slot, &moved);
}

/* [base, end) lies in one image, or in none, and is executable from now on. */
static void make_executable(struct qemu_slot *slot, uint64_t base, uint64_t end, uint32_t protection)
{
	struct plugin_image *image = plugin_space_find(&plugin.space, base);
	struct record_map_entry entry;
	struct plugin_image found;

	if (!image) {
		while (base < end && image_from_maps(base, end, &entry, &found)) {
			found.protection = protection;
			/* What happened to it before is not known. */
			found.flags |= QEMU_IMAGE_WRITABLE;
			plugin_mapping_add(slot, &found);
			base = found.end;
		}
		return;
	}
	image->protection = protection;
	if (protection & PROT_WRITE)
		image->flags |= QEMU_IMAGE_WRITABLE;
	begin_change(slot);
	if (image->executable) {
		if (protection & PROT_WRITE)
			image->have = false;
		send_protect(slot, image);
		return;
	}
	image->executable = true;
	send_image(slot, image);
	send_known(slot, image->base, image->end);
}

static void on_mprotect(struct qemu_slot *slot, uint64_t base, uint64_t size, uint32_t protection)
{
	uint64_t end = base + page_up(size);

	plugin_space_split(&plugin.space, base);
	plugin_space_split(&plugin.space, end);
	while (base < end) {
		size_t index = plugin_space_index(&plugin.space, base);
		struct plugin_image *image = index < plugin.space.count ? &plugin.space.images[index] : NULL;
		bool inside = image && image->base <= base;
		uint64_t next = inside ? image->end : image ? image->base : end;

		if (next > end)
			next = end;
		if (protection & PROT_EXEC) {
			make_executable(slot, base, next, protection);
		} else if (inside) {
			image->protection = protection;
			if (protection & PROT_WRITE)
				image->flags |= QEMU_IMAGE_WRITABLE;
			if (image->executable) {
				image->executable = false;
				begin_change(slot);
				send_unmap(slot, base, next);
			}
		}
		base = next;
	}
}

static void on_shmat(struct qemu_slot *slot, const uint64_t *args, uint64_t base)
{
	struct shmid_ds status;
	struct plugin_image image = {.base = base, .flags = QEMU_IMAGE_ANONYMOUS | QEMU_IMAGE_SHARED};

	if (shmctl((int)args[0], IPC_STAT, &status))
		return;
	image.end = base + page_up(status.shm_segsz);
	image.protection = PROT_READ | PROT_EXEC | (args[2] & SHM_RDONLY ? 0 : PROT_WRITE);
	if (args[2] & SHM_EXEC)
		plugin_mapping_add(slot, &image);
	else
		remove_range(slot, image.base, image.end);
}

static void on_shmdt(struct qemu_slot *slot, uint64_t base)
{
	const struct plugin_image *image = plugin_space_find(&plugin.space, base);

	if (image)
		remove_range(slot, base, image->end);
}

void plugin_mapping_syscall(struct qemu_slot *slot, const struct plugin_syscall *call, int64_t result)
{
	if (result < 0 && result > -4096)
		return;
	pthread_mutex_lock(&plugin.lock);
	switch (call->number) {
	case SYS_mmap:
		on_mmap(slot, call->args, (uint64_t)result);
		break;
	case SYS_munmap:
		remove_range(slot, call->args[0], call->args[0] + page_up(call->args[1]));
		break;
	case SYS_mremap:
		on_mremap(slot, call->args, (uint64_t)result);
		break;
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		on_mprotect(slot, call->args[0], call->args[1], (uint32_t)call->args[2]);
		break;
	case SYS_shmat:
		on_shmat(slot, call->args, (uint64_t)result);
		break;
	case SYS_shmdt:
		on_shmdt(slot, call->args[0]);
		break;
	default:
		break;
	}
	pthread_mutex_unlock(&plugin.lock);
}
