/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests to disks, and pages of files in memory, of Linux. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/usage/io_state.h"
#include "common/error.h"
#include "common/text/text.h"

#define SECTOR 512u
#define PAGE 4096u
#define ORDER_MAX 32u
#define SECTOR_BITS 48
/* dev_t of the kernel */
#define MINOR_BITS 20

static int device_object(struct usage_io *io, uint64_t device, uint32_t *object)
{
	char name[32];

	snprintf(name, sizeof(name), "%" PRIu64 ":%" PRIu64, device >> MINOR_BITS, device & ((1u << MINOR_BITS) - 1));
	return usage_io_object(io, USAGE_DISK, name, object);
}

/* Whether the request only flushes the disk's cache: "FF", without a letter of an operation. */
static bool is_flush(const struct usage_value *rwbs)
{
	for (size_t i = 0; i < rwbs->size; i++)
		if (strchr("RWDN", rwbs->bytes[i]))
			return false;
	return rwbs->size && rwbs->bytes[0] == 'F';
}

/*
 * Makes the key of a request: no two requests of a device at the same time begin at one sector. A device has one flush
 * at a time, whose sector differs at its beginning and its end.
 */
static int key_of(struct usage_io *io, const struct usage_event *read, uint64_t *key)
{
	const uint64_t device = read->values[USAGE_BLOCK_DEVICE].number;
	const uint64_t sector = is_flush(&read->values[USAGE_BLOCK_RWBS]) ? UINT64_MAX
									  : read->values[USAGE_BLOCK_SECTOR].number;
	const uint64_t *known = common_hash_map_get(&io->state->devices, device);
	const uint64_t number = known ? *known : io->state->devices.used;

	*key = number << SECTOR_BITS | (sector & ((UINT64_C(1) << SECTOR_BITS) - 1));
	return known ? 0 : common_hash_map_put(&io->state->devices, device, number);
}

/* The letters of rwbs: flags surround the operation. A flush without data is "FF". */
static enum usage_operation operation_of(const struct usage_value *rwbs)
{
	for (size_t i = 0; i < rwbs->size; i++)
		switch (rwbs->bytes[i]) {
		case 'R':
			return USAGE_READ;
		case 'W':
			return USAGE_WRITE;
		case 'D':
		case 'N':
			return USAGE_OTHER;
		default:
			break;
		}
	return USAGE_OTHER;
}

static void begin_flight(struct usage_io *io, uint32_t object, uint64_t now)
{
	struct usage_io_object *disk = &io->objects[object];

	disk->has_busy = true;
	if (!disk->in_flight++)
		disk->busy_since = now;
}

static void end_flight(struct usage_io *io, uint32_t object, uint64_t now)
{
	struct usage_io_object *disk = &io->objects[object];
	const uint64_t from = disk->busy_since > io->first ? disk->busy_since : io->first;
	const uint64_t to = now < io->last ? now : io->last;

	disk->finished++;
	if (disk->in_flight && !--disk->in_flight && to > from)
		disk->busy += to - from;
}

/*
 * A request is inserted by the thread that wants the data, and issued later, perhaps by a thread of the kernel; or it is
 * issued at once. Until then, requests may be joined, so that an inserted request may never be issued.
 */
static int begin_request(struct usage_io *io, const struct usage_event *read, uint64_t key, uint32_t object,
			 struct usage_pending **result)
{
	const struct ptl_event *event = read->event;
	struct usage_pending *pending;
	uint32_t process;
	const int status = usage_io_process(io, event->pid, event->time, &process);

	if (status < 0)
		return status;
	pending = usage_pending_add(&io->state->requests, key);
	if (!pending)
		return common_fail_memory("requests", 1);
	pending->process = process;
	pending->object = object;
	pending->operation = operation_of(&read->values[USAGE_BLOCK_RWBS]);
	pending->since = event->time;
	pending->waits = true;
	*result = pending;
	return 0;
}

static int insert_or_issue(struct usage_io *io, const struct usage_event *read)
{
	const bool issues = read->type->kind == USAGE_BLOCK_ISSUE;
	struct usage_pending *pending;
	uint32_t object;
	uint64_t key;
	int status = device_object(io, read->values[USAGE_BLOCK_DEVICE].number, &object);

	if (status == 0)
		status = key_of(io, read, &key);
	if (status < 0)
		return status;
	pending = usage_pending_find(&io->state->requests, key);
	/* A requeued request is inserted and issued again. */
	if (pending && (!pending->waits || !issues))
		return 0;
	if (!pending)
		status = begin_request(io, read, key, object, &pending);
	if (status < 0 || !issues)
		return status;
	pending->waits = false;
	pending->left = read->values[USAGE_BLOCK_SECTORS].number;
	begin_flight(io, object, read->event->time);
	return 0;
}

/* A part of a request has ended: the rest begins behind the part. */
static int end_part(struct usage_io *io, const struct usage_event *read, uint64_t key, struct usage_pending *pending)
{
	const uint64_t sectors = read->values[USAGE_BLOCK_SECTORS].number;
	struct usage_pending rest = *pending, *moved;

	rest.left -= sectors;
	rest.bytes += sectors * SECTOR;
	usage_pending_remove(&io->state->requests, key);
	moved = usage_pending_add(&io->state->requests, key + sectors);
	if (!moved)
		return common_fail_memory("requests", 1);
	*moved = rest;
	return 0;
}

/* Notes a flush: an empty write that asked for the flush ends next, and was not issued itself. */
static int note_flush(struct usage_io *io, const struct usage_event *read, const struct usage_io_done *done)
{
	struct usage_pending *flush = usage_pending_add(&io->state->flushes, read->values[USAGE_BLOCK_DEVICE].number);

	if (!flush)
		return common_fail_memory("requests", 1);
	flush->process = done->process;
	flush->object = FLOW_NONE;
	flush->since = done->begin;
	return 0;
}

/* Ends a request whose beginning is not known. */
static int complete_alone(struct usage_io *io, const struct usage_event *read, struct usage_io_done *done)
{
	const uint64_t device = read->values[USAGE_BLOCK_DEVICE].number;
	const struct usage_pending *flush = usage_pending_find(&io->state->flushes, device);
	int status = device_object(io, device, &done->object);

	done->operation = operation_of(&read->values[USAGE_BLOCK_RWBS]);
	if (flush && !done->bytes && done->operation == USAGE_WRITE) {
		done->process = flush->process;
		done->begin = flush->since;
		usage_pending_remove(&io->state->flushes, device);
	} else {
		/* The request ends on whatever thread an interrupt meets. */
		io->unbegun += done->end >= io->first;
		if (status == 0)
			status = usage_io_process(io, PTL_NO_ID, done->end, &done->process);
	}
	return status < 0 ? status : usage_io_add(io, done);
}

static int complete(struct usage_io *io, const struct usage_event *read)
{
	const uint64_t sectors = read->values[USAGE_BLOCK_SECTORS].number;
	struct usage_io_done done = {.end = read->event->time, .failed = read->values[USAGE_BLOCK_ERROR].number != 0};
	struct usage_pending *pending;
	uint64_t key;
	int status = key_of(io, read, &key);

	if (status < 0)
		return status;
	pending = usage_pending_find(&io->state->requests, key);
	if (pending && sectors && sectors < pending->left)
		return end_part(io, read, key, pending);
	if (pending) {
		done.process = pending->process;
		done.object = pending->object;
		done.operation = pending->operation;
		done.begin = pending->since;
		done.bytes = pending->bytes + sectors * SECTOR;
		usage_pending_remove(&io->state->requests, key);
		end_flight(io, done.object, done.end);
		if (is_flush(&read->values[USAGE_BLOCK_RWBS]))
			status = note_flush(io, read, &done);
		return status < 0 ? status : usage_io_add(io, &done);
	}
	done.bytes = sectors * SECTOR;
	return complete_alone(io, read, &done);
}

int usage_io_block(struct usage_io *io, const struct usage_event *read)
{
	if (!read->values[USAGE_BLOCK_DEVICE].given || !read->values[USAGE_BLOCK_SECTOR].given)
		return 0;
	return read->type->kind == USAGE_BLOCK_COMPLETE ? complete(io, read) : insert_or_issue(io, read);
}

/* ---- pages of files -------------------------------------------------------------------------------- */

static void inode_key(uint64_t device, uint64_t inode, char key[64])
{
	snprintf(key, 64, "%" PRIu64 " %" PRIu64, device, inode);
}

/* Notes the files of all images, to name inodes. */
static int list_images(struct usage_io *io)
{
	char key[64];
	int status = 0;

	for (size_t i = 0; status == 0 && i < flow_timeline_image_count(io->state->timeline); i++) {
		const struct ptl_image_event *data = &flow_timeline_image(io->state->timeline, i)->data;

		inode_key((uint64_t)data->device_major << MINOR_BITS | data->device_minor, data->inode, key);
		if (data->inode)
			status = common_byte_map_put(&io->state->images, key, strlen(key), i);
	}
	return status;
}

/* Finds the object of a file: the name is that of an image with the same device and inode. */
static int file_object(struct usage_io *io, uint64_t device, uint64_t inode, uint32_t *object)
{
	char key[64], name[96];
	const uint64_t *image;

	inode_key(device, inode, key);
	image = common_byte_map_get(&io->state->images, key, strlen(key));
	snprintf(name, sizeof(name), "inode %" PRIu64 " of %" PRIu64 ":%" PRIu64, inode, device >> MINOR_BITS,
		 device & ((1u << MINOR_BITS) - 1));
	return usage_io_object(io, USAGE_DISK_FILE,
			       image ? flow_timeline_image(io->state->timeline, (size_t)*image)->data.file_name : name,
			       object);
}

int usage_io_page_cache(struct usage_io *io, const struct usage_event *read)
{
	const struct ptl_event *event = read->event;
	const uint64_t order = read->values[USAGE_CACHE_ORDER].number;
	struct usage_io_done done = {.operation = USAGE_READ, .end = event->time};
	int status = 0;

	if (!read->values[USAGE_CACHE_INODE].given)
		return 0;
	if (!io->state->images.used)
		status = list_images(io);
	done.bytes = (uint64_t)PAGE << (order < ORDER_MAX ? order : 0);
	if (status == 0)
		status = file_object(io, read->values[USAGE_CACHE_DEVICE].number,
				     read->values[USAGE_CACHE_INODE].number, &done.object);
	if (status == 0)
		status = usage_io_process(io, event->pid, event->time, &done.process);
	return status < 0 ? status : usage_io_add(io, &done);
}
