/* SPDX-License-Identifier: BSD-2-Clause */
/* Applies events of images and code to an address space. */
#include <string.h>
#include <sys/mman.h>

#include "common/error.h"
#include "format/state/fold.h"

void format_fold_unmap(struct format_fold *fold, struct format_fold_process *process, uint64_t first, uint64_t last)
{
	struct format_piece piece;
	uint64_t at = first;

	while (format_pieces_at_or_after(&fold->pieces, process->root, at, &piece) && piece.first <= last) {
		const uint64_t from = piece.first < first ? first : piece.first;
		const uint64_t to = piece.last > last ? last : piece.last;

		fold->listener->spaces->hides(fold->context, &piece, to - from + 1);
		if (to == last)
			break;
		at = to + 1;
	}
	format_pieces_remove(&fold->pieces, &process->root, first, last);
	if (fold->listener->spaces->unmaps)
		fold->listener->spaces->unmaps(fold->context, process, first, last);
}

int format_fold_copy(struct format_fold *fold, uint32_t root, struct format_fold_process *process)
{
	struct common_hash_map copies = {0};
	struct format_piece piece;
	uint64_t at = 0;
	int status = 0;

	while (!status && format_pieces_at_or_after(&fold->pieces, root, at, &piece)) {
		const uint64_t last = piece.last;

		status = fold->listener->spaces->copies(fold->context, process, &piece, &copies);
		if (!status)
			format_pieces_put(&fold->pieces, &process->root, &piece);
		if (last == UINT64_MAX || fold->pieces.failed)
			break;
		at = last + 1;
	}
	common_hash_map_free(&copies);
	return status;
}

/* ---- changes --------------------------------------------------------------------------------- */

/*
 * Begins a change. If the recorder reports the mappings of a forked process at its start, the process inherits nothing.
 */
static int begin_change(struct format_fold *fold, struct format_fold_process *process, uint64_t time, bool injected)
{
	const struct format_fold_spaces *spaces = fold->listener->spaces;
	int status = 0;

	process->touched = true;
	if (process->undecided && time == process->start) {
		process->undecided = false;
		spaces->disinherits(fold->context, process);
	} else {
		status = format_fold_decide(fold, process);
	}
	return status || !spaces->change_begins ? status
						: spaces->change_begins(fold->context, process, time, injected);
}

static int end_change(struct format_fold *fold, struct format_fold_process *process)
{
	return fold->listener->spaces->change_ends ? fold->listener->spaces->change_ends(fold->context, process) : 0;
}

int format_fold_clear(struct format_fold *fold, struct format_fold_process *process, uint64_t time)
{
	const int status = begin_change(fold, process, time, false);

	if (status)
		return status;
	format_fold_unmap(fold, process, 0, UINT64_MAX);
	return end_change(fold, process);
}

/* ---- images ---------------------------------------------------------------------------------- */

static bool same_image(const struct ptl_image_event *a, const struct ptl_image_event *b)
{
	return a->base == b->base && a->size == b->size && a->file_offset == b->file_offset &&
	       a->has_code == b->has_code && (!a->has_code || !memcmp(a->code, b->code, PTL_HASH_SIZE)) &&
	       !strcmp(a->file_name, b->file_name);
}

/* Finds the image at an address, or NULL. */
static int find_image(struct format_fold *fold, const struct format_fold_process *process, uint64_t address,
		      const struct ptl_image_event **image, uint64_t *mapped)
{
	struct format_piece piece;

	*image = NULL;
	if (!format_pieces_find(&fold->pieces, process->root, address, &piece) || piece.image == FORMAT_FOLD_NONE)
		return 0;
	return fold->listener->spaces->image(fold->context, piece.image, image, mapped);
}

/*
 * Whether rundown repeats an image that is completely mapped. End rundown may report remains of an image, so there an
 * image of the same name at the address suffices.
 */
static int is_there(struct format_fold *fold, const struct format_fold_process *process,
		    const struct ptl_image_event *data, enum format_action action, bool *there)
{
	const struct ptl_image_event *image;
	uint64_t mapped;
	int status;

	*there = false;
	if (!format_is_rundown(action))
		return 0;
	status = find_image(fold, process, data->base, &image, &mapped);
	if (status || !image)
		return status;
	*there = action == FORMAT_ACTION_END_RUNDOWN ? !strcmp(image->file_name, data->file_name)
						     : mapped == data->size && same_image(image, data);
	return 0;
}

/*
 * Returns the next stretch from `at` on that lies in one piece, or in none: then image and blob are FORMAT_FOLD_NONE.
 */
static struct format_piece stretch_at(struct format_fold *fold, const struct format_fold_process *process, uint64_t at,
				      uint64_t last)
{
	struct format_piece found;
	struct format_piece stretch = {.first = at, .last = last, .image = FORMAT_FOLD_NONE, .blob = FORMAT_FOLD_NONE};

	if (!format_pieces_at_or_after(&fold->pieces, process->root, at, &found) || found.first > last)
		return stretch;
	if (found.first > at) {
		stretch.last = found.first - 1;
		return stretch;
	}
	found.offset += at - found.first;
	found.first = at;
	if (found.last > last)
		found.last = last;
	return found;
}

/* Names memory: an injected image without own bytes keeps the code that is mapped there. */
static void name_memory(struct format_fold *fold, struct format_fold_process *process, const struct format_piece *image)
{
	const struct format_fold_spaces *spaces = fold->listener->spaces;
	uint64_t at = image->first;

	while (!fold->pieces.failed) {
		struct format_piece piece = stretch_at(fold, process, at, image->last), hidden = piece;

		hidden.blob = FORMAT_FOLD_NONE;
		spaces->hides(fold->context, &hidden, piece.last - piece.first + 1);
		piece.image = image->image;
		spaces->maps(fold->context, process, &piece, piece.first - piece.offset);
		if (piece.last == image->last)
			return;
		at = piece.last + 1;
	}
}

static int load_image(struct format_fold *fold, struct format_fold_process *process, const struct ptl_image_event *data,
		      enum format_action action, bool injected)
{
	struct format_piece piece = {
		.first = data->base,
		.last = data->base + (data->size - 1),
		.image = FORMAT_FOLD_NONE,
		.blob = FORMAT_FOLD_NONE,
	};
	bool there;
	int status = is_there(fold, process, data, action, &there);

	if (!status && !there)
		status = fold->listener->spaces->loads(fold->context, process, data, action, &piece);
	if (status || there)
		return status;
	if (injected && action == FORMAT_ACTION_BEGIN && !data->has_code) {
		name_memory(fold, process, &piece);
		return 0;
	}
	format_fold_unmap(fold, process, piece.first, piece.last);
	fold->listener->spaces->maps(fold->context, process, &piece, data->base);
	return 0;
}

/*
 * Handles a change of protection, which does not change the mapping. Memory that is not executable any more keeps its
 * image, since compilers may write code without execute permission and enable execution again. Executable memory
 * without a known mapping becomes an image.
 */
static int protect(struct format_fold *fold, struct format_fold_process *process, const struct ptl_image_event *data)
{
	const uint64_t last = data->base + (data->size - 1);
	struct format_piece piece;
	uint64_t at = data->base;

	if (!(data->protection & PROT_EXEC))
		return 0;
	if (!format_pieces_any(&fold->pieces, process->root, data->base, last))
		return load_image(fold, process, data, FORMAT_ACTION_BEGIN, false);
	while (format_pieces_at_or_after(&fold->pieces, process->root, at, &piece) && piece.first <= last) {
		if (piece.image != FORMAT_FOLD_NONE)
			fold->listener->spaces->protects(fold->context, piece.image, data->protection);
		if (piece.last >= last)
			break;
		at = piece.last + 1;
	}
	return 0;
}

/* Handles an unload. Without a size, the image at the base is unloaded. */
static int unload_image(struct format_fold *fold, struct format_fold_process *process,
			const struct ptl_image_event *data)
{
	const struct ptl_image_event *image;
	uint64_t size = data->size, mapped;

	if (!size) {
		const int status = find_image(fold, process, data->base, &image, &mapped);

		if (status || !image)
			return status;
		size = image->size;
		if (size - 1 > UINT64_MAX - data->base)
			size = UINT64_MAX - data->base + 1;
	}
	format_fold_unmap(fold, process, data->base, data->base + (size - 1));
	return 0;
}

static int check_range(uint64_t base, uint64_t size)
{
	if (!format_is_range(base, size))
		return common_fail(PTL_CORRUPT, "no memory: %#llx bytes at %#llx", (unsigned long long)size,
				   (unsigned long long)base);
	return 0;
}

static int change_image(struct format_fold *fold, struct format_fold_process *process,
			const struct format_kernel_event *decoded, bool injected)
{
	switch (decoded->action) {
	case FORMAT_ACTION_END:
		return unload_image(fold, process, &decoded->image);
	case FORMAT_ACTION_PROTECT:
		return protect(fold, process, &decoded->image);
	default:
		return load_image(fold, process, &decoded->image, decoded->action, injected);
	}
}

/* Whether the image existed without having been reported. */
static bool is_unannounced(struct format_fold *fold, const struct format_fold_process *process,
			   const struct format_kernel_event *decoded)
{
	const struct ptl_image_event *data = &decoded->image;

	return (decoded->action == FORMAT_ACTION_END_RUNDOWN || decoded->action == FORMAT_ACTION_END) && data->size &&
	       *data->file_name &&
	       !format_pieces_any(&fold->pieces, process->root, data->base, data->base + (data->size - 1));
}

int format_fold_image(struct format_fold *fold, const struct ptl_event *event,
		      const struct format_kernel_event *decoded)
{
	const struct ptl_image_event *data = &decoded->image;
	struct format_fold_process *process = NULL;
	bool before;
	int status = 0;

	if (decoded->action == FORMAT_ACTION_OTHER)
		return common_fail(PTL_UNSUPPORTED, "image event with opcode %u", event->descriptor.opcode);
	if (decoded->action != FORMAT_ACTION_END || data->size)
		status = check_range(data->base, data->size);
	if (!status)
		status = format_fold_need(fold, data->process_id, &process);
	if (status || !process)
		return status;
	/* Images in the start rundown already existed before the capture. */
	before = decoded->action == FORMAT_ACTION_START_RUNDOWN && !process->started;
	process->rundown |= before;
	status = begin_change(fold, process, before ? 0 : event->time, event->flags & PTL_EVENT_INJECTED);
	if (!status && fold->listener->spaces->unannounced && is_unannounced(fold, process, decoded))
		status = fold->listener->spaces->unannounced(fold->context, process, event, data);
	if (!status)
		status = change_image(fold, process, decoded, event->flags & PTL_EVENT_INJECTED);
	return status ? status : end_change(fold, process);
}

/* ---- code ------------------------------------------------------------------------------------ */

/* Lays new code over the address range, piece by piece, so that each piece keeps its image. */
static void overlay(struct format_fold *fold, struct format_fold_process *process, uint64_t first, uint64_t last,
		    uint32_t blob)
{
	const struct format_fold_spaces *spaces = fold->listener->spaces;
	uint64_t at = first;

	while (!fold->pieces.failed) {
		struct format_piece old,
			piece = {.first = at, .image = FORMAT_FOLD_NONE, .blob = blob, .code_event = true};
		const bool found = format_pieces_find(&fold->pieces, process->root, at, &old);

		piece.last = old.last < last ? old.last : last;
		at = piece.last + 1;
		if (found) {
			piece.image = old.image;
			old.image = FORMAT_FOLD_NONE;
			spaces->hides(fold->context, &old, piece.last - piece.first + 1);
		}
		spaces->maps(fold->context, process, &piece, first);
		if (piece.last == last)
			return;
	}
}

int format_fold_code(struct format_fold *fold, const struct ptl_event *event, const struct ptl_code_event *data)
{
	struct format_fold_process *process = NULL;
	struct format_piece piece = {.blob = FORMAT_FOLD_NONE};
	int status = check_range(data->base, data->size);

	if (!status)
		status = format_fold_need(fold, data->process_id, &process);
	if (status || !process)
		return status;
	status = begin_change(fold, process, event->time, event->flags & PTL_EVENT_INJECTED);
	if (!status)
		status = fold->listener->spaces->writes(fold->context, process, data, &piece);
	if (status)
		return status;
	overlay(fold, process, data->base, data->base + (data->size - 1), piece.blob);
	return end_change(fold, process);
}
