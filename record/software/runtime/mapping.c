/* SPDX-License-Identifier: BSD-2-Clause */
/* Executable memory over time: mappings of the program, mappings found late, and code without a file. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "record/software/runtime/runtime.h"

static uint64_t page_up(uint64_t value)
{
	return (value + CHANNEL_PAGE - 1) & ~(CHANNEL_PAGE - 1);
}

/*
 * Begins a new version of the address space. Its time is after all segments of the old version, and every thread begins
 * a segment at its next block.
 */
static void begin_change(struct runtime_thread *thread)
{
	uint64_t time = runtime_now(thread);

	if (time <= runtime.psb_time)
		time = runtime.psb_time + 1;
	if (time < runtime.change_time)
		time = runtime.change_time;
	runtime.change_time = time;
	__atomic_store_n(&runtime.epoch, runtime.epoch + 1, __ATOMIC_RELEASE);
	runtime_thread_call_all();
}

static void send_code(struct runtime_thread *thread, uint64_t address, const uint8_t *bytes, size_t size)
{
	struct channel_message_code message = {
		.header = {.type = CHANNEL_MSG_CODE, .time = runtime.change_time},
		.base = address,
		.epoch = runtime.epoch,
		.length = (uint32_t)size,
	};

	runtime_send(thread, &message.header, sizeof(message), bytes, size);
}

/* Sends code again that was sent before the memory became executable again and has not been translated since. */
static void send_known(struct runtime_thread *thread, uint64_t base, uint64_t end)
{
	for (uint64_t address = base; address < end; address += CHANNEL_PAGE) {
		const struct channel_page *page = channel_space_page(&runtime.space, address);
		size_t run = 0;

		for (size_t i = 0; page && i <= CHANNEL_PAGE; i++) {
			if (i < CHANNEL_PAGE && page->known[i / 8] >> i % 8 & 1)
				continue;
			if (i > run)
				send_code(thread, address + run, page->bytes + run, i - run);
			run = i + 1;
		}
	}
}

/* Announces an image in the current epoch. The recorder answers whether the bytes must be sent when executed. */
static void send_image(struct runtime_thread *thread, struct channel_image *image)
{
	struct channel_message_image message = {
		.header = {.type = CHANNEL_MSG_IMAGE_MAP,
			   .flags = runtime.announcing ? CHANNEL_MESSAGE_RUNDOWN : 0,
			   .time = runtime.change_time},
		.base = image->base,
		.size = image->end - image->base,
		.file_offset = image->file_offset,
		.device = image->device,
		.inode = image->inode,
		.epoch = runtime.epoch,
		.protection = image->protection,
		.flags = image->flags,
		.path_length = image->path ? (uint32_t)strlen(image->path) : 0,
	};
	uint32_t must_send = CHANNEL_IMAGE_ANONYMOUS | CHANNEL_IMAGE_DELETED | CHANNEL_IMAGE_WRITABLE;

	image->have = false;
	/* With --stop-at and --values the recorder answers once the functions of the file are known. */
	if (image->flags & must_send && (runtime.config.stops || runtime.config.values_size) && image->path)
		runtime_request(thread, &message.header, sizeof(message), image->path, message.path_length);
	else if (image->flags & must_send)
		runtime_send(thread, &message.header, sizeof(message), image->path, message.path_length);
	else
		image->have = runtime_request(thread, &message.header, sizeof(message), image->path,
					      message.path_length) != CHANNEL_IMAGE_REPLY_NONE;
	runtime.stops_known |= runtime.header->stop_count != 0;
}

bool runtime_mapping_is_stop(uint64_t pc)
{
	const struct channel_image *image;
	uint32_t count = __atomic_load_n(&runtime.header->stop_count, __ATOMIC_ACQUIRE);
	bool is = false;

	image = channel_space_find(&runtime.space, pc);
	for (uint32_t i = 0; image && image->path && i < count && i < CHANNEL_STOPS_MAX; i++) {
		const struct channel_stop_place *place = &runtime.header->stop_places[i];

		is |= place->device == image->device && place->inode == image->inode &&
		      place->offset == image->file_offset + (pc - image->base);
	}
	return is;
}

static void send_unmap(struct runtime_thread *thread, uint64_t base, uint64_t end)
{
	struct channel_message_unmap message = {
		.header = {.type = CHANNEL_MSG_IMAGE_UNMAP, .time = runtime.change_time},
		.base = base,
		.size = end - base,
		.epoch = runtime.epoch,
	};

	runtime_send(thread, &message.header, sizeof(message), NULL, 0);
}

static void send_protect(struct runtime_thread *thread, const struct channel_image *image)
{
	struct channel_message_protect message = {
		.header = {.type = CHANNEL_MSG_IMAGE_PROTECT, .time = runtime.change_time},
		.base = image->base,
		.size = image->end - image->base,
		.epoch = runtime.epoch,
		.protection = image->protection,
	};

	runtime_send(thread, &message.header, sizeof(message), NULL, 0);
}

void runtime_mapping_begin(struct runtime_thread *thread)
{
	begin_change(thread);
}

void runtime_mapping_add(struct runtime_thread *thread, struct channel_image *image)
{
	image->executable = true;
	begin_change(thread);
	if (channel_space_add(&runtime.space, image)) {
		runtime_note(thread, "no memory for the image at", image->base);
		return;
	}
	send_image(thread, channel_space_find(&runtime.space, image->base));
}

static void remove_range(struct runtime_thread *thread, uint64_t base, uint64_t end)
{
	if (!channel_space_remove(&runtime.space, base, end))
		return;
	begin_change(thread);
	send_unmap(thread, base, end);
}

/* Makes an image of the mapping at base in /proc/self/maps, cut to [base, end). */
static bool image_from_maps(uint64_t base, uint64_t end, struct runtime_map *entry, struct channel_image *image)
{
	if (!runtime_maps_find(base, entry))
		return false;
	*image = (struct channel_image){
		.base = base,
		.end = entry->end < end ? entry->end : end,
		.file_offset = entry->path[0] ? entry->file_offset + (base - entry->base) : 0,
		.device = entry->path[0] ? entry->device : 0,
		.inode = entry->path[0] ? entry->inode : 0,
		.path = entry->path[0] ? entry->path : NULL,
		.flags = (entry->path[0] ? 0 : CHANNEL_IMAGE_ANONYMOUS) | (entry->deleted ? CHANNEL_IMAGE_DELETED : 0) |
			 (entry->shared ? CHANNEL_IMAGE_SHARED : 0) | (entry->writable ? CHANNEL_IMAGE_WRITABLE : 0),
	};
	return true;
}

/*
 * Finds the image of executed code outside of all known images: takes the surrounding mapping up to the neighbouring
 * images.
 */
static struct channel_image *find_image(struct runtime_thread *thread, uint64_t address)
{
	size_t index = channel_space_index(&runtime.space, address);
	struct runtime_map entry;
	struct channel_image image;
	uint64_t page = address & ~(CHANNEL_PAGE - 1);

	if (index < runtime.space.count && runtime.space.images[index].base <= address) {
		/* Known as non-executable memory: makes the page executable. */
		channel_space_split(&runtime.space, page);
		channel_space_split(&runtime.space, page + CHANNEL_PAGE);

		struct channel_image *part = channel_space_find(&runtime.space, address);

		begin_change(thread);
		part->executable = true;
		part->protection |= PROT_EXEC;
		part->flags |= CHANNEL_IMAGE_FOUND;
		send_image(thread, part);
		send_known(thread, part->base, part->end);
		return part;
	}
	if (!image_from_maps(page, UINT64_MAX, &entry, &image))
		return NULL;
	image.base = entry.base;
	if (index > 0 && runtime.space.images[index - 1].end > image.base)
		image.base = runtime.space.images[index - 1].end;
	if (index < runtime.space.count && runtime.space.images[index].base < image.end)
		image.end = runtime.space.images[index].base;
	image.file_offset = image.path ? entry.file_offset + (image.base - entry.base) : 0;
	image.flags |= CHANNEL_IMAGE_FOUND;
	image.protection = PROT_READ | PROT_EXEC | (entry.writable ? PROT_WRITE : 0);
	runtime_mapping_add(thread, &image);
	return channel_space_find(&runtime.space, address);
}

static void learn(struct runtime_thread *thread, uint64_t address, const uint8_t *bytes, size_t size)
{
	switch (channel_space_learn(&runtime.space, address, bytes, size)) {
	case CHANNEL_LEARNED_NOTHING:
		break;
	case CHANNEL_LEARNED_CHANGE:
		/* Otherwise a block of other bytes could be found later without a report to the recorder. */
		runtime_cache_forget(address, address + size);
		begin_change(thread);
		send_code(thread, address, bytes, size);
		break;
	case CHANNEL_LEARNED_MORE:
	case CHANNEL_LEARNED_NO_MEMORY:
		send_code(thread, address, bytes, size);
		break;
	}
}

void runtime_mapping_written(struct runtime_thread *thread, uint64_t base, uint64_t end)
{
	bool known = false;

	runtime_lock(&runtime.lock);
	runtime_cache_forget(base, end);
	channel_space_split(&runtime.space, base & ~(CHANNEL_PAGE - 1));
	channel_space_split(&runtime.space, page_up(end));
	for (size_t i = channel_space_index(&runtime.space, base);
	     i < runtime.space.count && runtime.space.images[i].base < end; i++) {
		runtime.space.images[i].have = false;
		runtime.space.images[i].flags |= CHANNEL_IMAGE_WRITABLE;
		known = true;
	}
	if (known)
		begin_change(thread);
	runtime_unlock(&runtime.lock);
}

void runtime_mapping_discarded(struct runtime_thread *thread, uint64_t base, uint64_t end)
{
	size_t index;
	bool known;

	runtime_lock(&runtime.lock);
	index = channel_space_index(&runtime.space, base);
	known = index < runtime.space.count && runtime.space.images[index].base < end;
	runtime_unlock(&runtime.lock);
	if (known)
		runtime_mapping_written(thread, base, end);
}

void runtime_mapping_translated(struct runtime_thread *thread, uint64_t start, const uint8_t *bytes, size_t size)
{
	while (size) {
		size_t piece = (size_t)(CHANNEL_PAGE - start % CHANNEL_PAGE);
		struct channel_image *image = channel_space_find(&runtime.space, start);

		if (piece > size)
			piece = size;
		if (!image || !image->executable)
			image = find_image(thread, start);
		if (image && !image->have)
			learn(thread, start, bytes, piece);
		start += piece;
		bytes += piece;
		size -= piece;
	}
}

/* ---- system calls --------------------------------------------------------------------------- */

static void describe_file(int fd, struct channel_image *image, char *path, size_t path_size)
{
	struct stat status;
	char link[64];
	size_t at = 0;
	int64_t length;

	runtime_put(link, sizeof(link), &at, "/proc/self/fd/");
	runtime_put_number(link, sizeof(link), &at, (uint32_t)fd, 10);
	length = runtime_proc_readlink(link + strlen("/proc/"), link, path, path_size - 1);
	if (length < 0 || RUNTIME_CALL(SYS_fstat, fd, &status)) {
		image->flags |= CHANNEL_IMAGE_DELETED;
		return;
	}
	path[length] = 0;
	image->path = path;
	image->device = status.st_dev;
	image->inode = status.st_ino;
	if (status.st_nlink == 0)
		image->flags |= CHANNEL_IMAGE_DELETED;
}

static void on_mmap(struct runtime_thread *thread, const uint64_t *args, uint64_t base)
{
	uint64_t end = base + page_up(args[1]);
	uint32_t protection = (uint32_t)args[2];
	char path[CHANNEL_PATH_SIZE];
	struct channel_image image = {.base = base, .end = end, .protection = protection};

	if (!(protection & PROT_EXEC)) {
		remove_range(thread, base, end);
		return;
	}
	if (args[3] & MAP_ANONYMOUS) {
		image.flags |= CHANNEL_IMAGE_ANONYMOUS;
	} else {
		image.file_offset = args[5];
		describe_file((int)args[4], &image, path, sizeof(path));
	}
	if ((args[3] & MAP_TYPE) != MAP_PRIVATE)
		image.flags |= CHANNEL_IMAGE_SHARED;
	if (protection & PROT_WRITE)
		image.flags |= CHANNEL_IMAGE_WRITABLE;
	runtime_mapping_add(thread, &image);
}

/* Moves images along with the memory, and has their bytes checked again. */
static void on_mremap(struct runtime_thread *thread, const uint64_t *args, uint64_t base)
{
	uint64_t old = args[0], old_end = old + page_up(args[1]), size = page_up(args[2]);
	struct channel_image *first = channel_space_find(&runtime.space, old);
	char path[CHANNEL_PATH_SIZE];
	struct channel_image moved;

	if (!first || !first->executable) {
		remove_range(thread, old, old_end);
		if (base != old)
			remove_range(thread, base, base + size);
		return;
	}
	moved = *first;
	moved.file_offset += moved.path ? old - first->base : 0;
	moved.base = base;
	moved.end = base + size;
	if (moved.path) {
		memcpy(path, moved.path, strlen(moved.path) + 1);
		moved.path = path;
	}
	if (args[1] && !(args[3] & MREMAP_DONTUNMAP))
		remove_range(thread, old, old_end);
	runtime_mapping_add(thread, &moved);
}

/* Marks [base, end), which lies in one image or in no image, as executable. */
static void make_executable(struct runtime_thread *thread, uint64_t base, uint64_t end, uint32_t protection)
{
	struct channel_image *image = channel_space_find(&runtime.space, base);
	struct runtime_map entry;
	struct channel_image found;

	if (!image) {
		while (base < end && image_from_maps(base, end, &entry, &found)) {
			found.protection = protection;
			/* The history of the mapping is unknown. */
			found.flags |= CHANNEL_IMAGE_WRITABLE;
			runtime_mapping_add(thread, &found);
			base = found.end;
		}
		return;
	}
	image->protection = protection;
	if (protection & PROT_WRITE)
		image->flags |= CHANNEL_IMAGE_WRITABLE;
	begin_change(thread);
	if (protection & PROT_WRITE)
		image->have = false;
	send_protect(thread, image);
	/* Mapping unchanged; the bytes may have changed meanwhile. */
	if (!image->executable)
		send_known(thread, image->base, image->end);
	image->executable = true;
}

static void on_mprotect(struct runtime_thread *thread, uint64_t base, uint64_t size, uint32_t protection)
{
	uint64_t end = base + page_up(size);

	channel_space_split(&runtime.space, base);
	channel_space_split(&runtime.space, end);
	while (base < end) {
		size_t index = channel_space_index(&runtime.space, base);
		struct channel_image *image = index < runtime.space.count ? &runtime.space.images[index] : NULL;
		bool inside = image && image->base <= base;
		uint64_t next = inside ? image->end : image ? image->base : end;

		if (next > end)
			next = end;
		if (protection & PROT_EXEC) {
			make_executable(thread, base, next, protection);
		} else if (inside) {
			image->protection = protection;
			if (protection & PROT_WRITE)
				image->flags |= CHANNEL_IMAGE_WRITABLE;
			if (image->executable) {
				image->executable = false;
				begin_change(thread);
				send_protect(thread, image);
			}
			if (protection & PROT_WRITE)
				image->have = false;
		}
		base = next;
	}
}

static void on_shmat(struct runtime_thread *thread, const uint64_t *args, uint64_t base)
{
	struct shmid_ds status;
	struct channel_image image = {.base = base, .flags = CHANNEL_IMAGE_ANONYMOUS | CHANNEL_IMAGE_SHARED};

	if (RUNTIME_CALL(SYS_shmctl, args[0], IPC_STAT, &status))
		return;
	image.end = base + page_up(status.shm_segsz);
	image.protection = PROT_READ | PROT_EXEC | (args[2] & SHM_RDONLY ? 0 : PROT_WRITE);
	if (args[2] & SHM_EXEC)
		runtime_mapping_add(thread, &image);
	else
		remove_range(thread, image.base, image.end);
}

static void on_shmdt(struct runtime_thread *thread, uint64_t base)
{
	const struct channel_image *image = channel_space_find(&runtime.space, base);

	if (image)
		remove_range(thread, base, image->end);
}

void runtime_mapping_syscall(struct runtime_thread *thread, int64_t number, const uint64_t args[6], int64_t result)
{
	if (result < 0 && result > -4096)
		return;
	runtime_lock(&runtime.lock);
	switch (number) {
	case SYS_mmap:
		runtime_cache_remapped((uint64_t)result, (uint64_t)result + page_up(args[1]));
		on_mmap(thread, args, (uint64_t)result);
		break;
	case SYS_munmap:
		runtime_cache_remapped(args[0], args[0] + page_up(args[1]));
		remove_range(thread, args[0], args[0] + page_up(args[1]));
		break;
	case SYS_mremap:
		runtime_cache_remapped(args[0], args[0] + page_up(args[1]));
		runtime_cache_remapped((uint64_t)result, (uint64_t)result + page_up(args[2]));
		on_mremap(thread, args, (uint64_t)result);
		break;
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		runtime_cache_remapped(args[0], args[0] + page_up(args[1]));
		on_mprotect(thread, args[0], args[1], (uint32_t)args[2]);
		break;
	case SYS_shmat:
		on_shmat(thread, args, (uint64_t)result);
		break;
	case SYS_shmdt:
		on_shmdt(thread, args[0]);
		break;
	default:
		break;
	}
	runtime_unlock(&runtime.lock);
}
