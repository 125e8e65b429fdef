/* SPDX-License-Identifier: BSD-2-Clause */
/* A program's first block: checks QEMU, announces the process, the program, its images. */

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "record/qemu/plugin/encoder.h"
#include "record/qemu/plugin/guest.h"
#include "record/process/maps.h"
#include "record/qemu/plugin/plugin.h"

#define ARGUMENTS_MAX (1u << 21)
#define VECTOR_MAX (1u << 20)
#define HEADERS_MAX 256

/* What the kernel (here QEMU) leaves on the stack for a new program. */
struct initial_stack {
	uint64_t argc;
	uint64_t headers;      /* AT_PHDR */
	uint64_t header_count; /* AT_PHNUM */
	uint64_t interpreter;  /* AT_BASE */
	uint64_t entry;        /* AT_ENTRY */
};

/* The vector of pointers at `address` ends with a NULL; returns the address after it, 0 if it does
 * not end. */
static uint64_t skip_vector(uint64_t address)
{
	uint64_t word;

	for (unsigned i = 0; i < VECTOR_MAX; i++, address += sizeof(word)) {
		if (!plugin_guest_read(address, &word, sizeof(word)))
			return 0;
		if (!word)
			return address + sizeof(word);
	}
	return 0;
}

/* False if this is no initial stack: then the register was not the stack pointer. */
static bool read_initial_stack(uint64_t rsp, struct initial_stack *stack)
{
	uint64_t at, pair[2];

	memset(stack, 0, sizeof(*stack));
	if (!plugin_guest_read(rsp, &stack->argc, sizeof(stack->argc)) || stack->argc > VECTOR_MAX)
		return false;
	at = rsp + 8 + stack->argc * 8;
	if (skip_vector(rsp + 8) != at + 8)
		return false;
	at = skip_vector(at + 8);
	for (unsigned i = 0; at && i < 64; i++, at += sizeof(pair)) {
		if (!plugin_guest_read(at, pair, sizeof(pair)))
			return false;
		switch (pair[0]) {
		case AT_PHDR:
			stack->headers = pair[1];
			break;
		case AT_PHNUM:
			stack->header_count = pair[1];
			break;
		case AT_BASE:
			stack->interpreter = pair[1];
			break;
		case AT_ENTRY:
			stack->entry = pair[1];
			break;
		case AT_NULL:
			return stack->entry && stack->headers && stack->header_count;
		default:
			break;
		}
	}
	return false;
}

/* ---- images --------------------------------------------------------------------------------- */

static void add_segment(struct qemu_slot *slot, const Elf64_Phdr *segment, uint64_t bias, uint32_t flag)
{
	uint64_t base = (segment->p_vaddr + bias) & ~(PLUGIN_PAGE - 1);
	uint64_t end = (segment->p_vaddr + bias + segment->p_memsz + PLUGIN_PAGE - 1) & ~(PLUGIN_PAGE - 1);
	struct record_map_entry entry;
	struct plugin_image image = {
		.base = base,
		.end = end,
		.protection = (segment->p_flags & PF_R ? PROT_READ : 0) | (segment->p_flags & PF_W ? PROT_WRITE : 0) |
			      PROT_EXEC,
		.flags = flag | (segment->p_flags & PF_W ? QEMU_IMAGE_WRITABLE : 0),
	};

	if (!record_maps_find(base, &entry))
		return;
	if (entry.path[0]) {
		image.path = entry.path;
		image.file_offset = entry.file_offset + (base - entry.base);
		image.device = entry.device;
		image.inode = entry.inode;
		image.flags |= entry.deleted ? QEMU_IMAGE_DELETED : 0;
	} else {
		image.flags |= QEMU_IMAGE_ANONYMOUS;
	}
	plugin_mapping_add(slot, &image);
}

/* Adds the executable segments that `count` program headers at `address` describe. */
static void add_segments(struct qemu_slot *slot, uint64_t address, uint64_t count, uint64_t bias, uint32_t flag)
{
	Elf64_Phdr headers[HEADERS_MAX];

	if (count > HEADERS_MAX || !plugin_guest_read(address, headers, count * sizeof(headers[0])))
		return;
	for (uint64_t i = 0; i < count; i++)
		if (headers[i].p_type == PT_LOAD && headers[i].p_flags & PF_X)
			add_segment(slot, &headers[i], bias, flag);
}

/* The bias of a program is where its program headers are less where they say they are. */
static uint64_t program_bias(const struct initial_stack *stack)
{
	Elf64_Phdr headers[HEADERS_MAX];

	if (stack->header_count > HEADERS_MAX ||
	    !plugin_guest_read(stack->headers, headers, stack->header_count * sizeof(headers[0])))
		return 0;
	for (uint64_t i = 0; i < stack->header_count; i++)
		if (headers[i].p_type == PT_PHDR)
			return stack->headers - headers[i].p_vaddr;
	/* Without that header: the segment that starts with the ELF header holds them. */
	for (uint64_t i = 0; i < stack->header_count; i++)
		if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0)
			return stack->headers - sizeof(Elf64_Ehdr) - headers[i].p_vaddr;
	return 0;
}

static void add_images(struct qemu_slot *slot, const struct initial_stack *stack)
{
	Elf64_Ehdr header;

	add_segments(slot, stack->headers, stack->header_count, program_bias(stack), QEMU_IMAGE_MAIN);
	if (stack->interpreter && plugin_guest_read(stack->interpreter, &header, sizeof(header)) &&
	    !memcmp(header.e_ident, ELFMAG, SELFMAG))
		add_segments(slot, stack->interpreter + header.e_phoff, header.e_phnum, stack->interpreter,
			     QEMU_IMAGE_INTERPRETER);
}

/* ---- messages ------------------------------------------------------------------------------- */

static void send_process_start(struct qemu_slot *slot)
{
	struct qemu_message_process_start message = {
		.header = {.type = QEMU_MSG_PROCESS_START, .time = plugin.change_time},
		.how = QEMU_PROCESS_INITIAL,
		.parent_pid = (uint32_t)getppid(),
		.epoch = plugin.epoch,
	};

	plugin_send(slot, &message.header, sizeof(message), NULL, 0);
}

/* Reads all of a file of /proc; the caller frees it. *size excludes the NUL put after it. */
static char *read_proc(const char *path, size_t *size)
{
	char *text = malloc(ARGUMENTS_MAX + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t part = 0;

	*size = 0;
	while (text && fd >= 0 && *size < ARGUMENTS_MAX && (part = read(fd, text + *size, ARGUMENTS_MAX - *size)) > 0)
		*size += (size_t)part;
	if (fd >= 0)
		close(fd);
	if (text)
		text[*size] = 0;
	return text;
}

static const char *argument_at(const char *arguments, size_t size, int index)
{
	const char *at = arguments;

	for (; index > 0 && at < arguments + size; index--)
		at += strlen(at) + 1;
	return at < arguments + size ? at : "";
}

/* One string with its NUL. */
static size_t put_string(char *out, const char *text)
{
	size_t size = strlen(text) + 1;

	memcpy(out, text, size);
	return size;
}

/*
 * QEMU's command line is "qemu-x86_64 options... -0 argv0 path arguments...": the program's path is
 * argument plugin.first_argument, its argv[0] the one before.
 */
static void send_exec(struct qemu_slot *slot, const struct initial_stack *stack)
{
	struct qemu_message_exec message = {
		.header = {.type = QEMU_MSG_EXEC, .time = plugin.change_time},
		.argc = (uint32_t)stack->argc,
		.epoch = plugin.epoch,
		.start_address = stack->entry,
	};
	char directory[QEMU_CHANNEL_PATH_SIZE];
	size_t size, total = 0;
	char *arguments = read_proc("/proc/self/cmdline", &size);
	char *bytes = arguments ? malloc(size + 3 * QEMU_CHANNEL_PATH_SIZE) : NULL;

	if (!bytes) {
		free(arguments);
		return;
	}

	const char *program = argument_at(arguments, size, plugin.first_argument);
	const char *rest = program + strlen(program) + 1;

	if (!realpath(program, plugin.program))
		snprintf(plugin.program, sizeof(plugin.program), "%s", program);
	if (!getcwd(directory, sizeof(directory)))
		directory[0] = 0;
	total += put_string(bytes + total, plugin.program);
	total += put_string(bytes + total,
			    plugin.script_argument ? argument_at(arguments, size, plugin.script_argument) : "");
	total += put_string(bytes + total, directory);
	total += put_string(bytes + total, argument_at(arguments, size, plugin.first_argument - 1));
	if (rest < arguments + size) {
		memcpy(bytes + total, rest, (size_t)(arguments + size - rest));
		total += (size_t)(arguments + size - rest);
	}
	message.total = (uint32_t)total;
	plugin_send(slot, &message.header, sizeof(message), NULL, 0);
	for (size_t at = 0; at < total;) {
		struct qemu_message_exec_bytes part = {
			.header = {.type = QEMU_MSG_EXEC_BYTES, .time = plugin.change_time},
			.offset = (uint32_t)at,
		};
		size_t length = total - at < 32768 ? total - at : 32768;

		part.length = (uint32_t)length;
		plugin_send(slot, &part.header, sizeof(part), bytes + at, length);
		at += length;
	}
	free(bytes);
	free(arguments);
}

/* The kernel would have given it privileges that it does not give to QEMU. */
static void warn_of_privileges(struct qemu_slot *slot)
{
	struct stat info;

	if (stat(plugin.program, &info))
		return;
	if (info.st_mode & S_ISUID && info.st_uid != geteuid())
		plugin_note(slot, 1, "%s is set-user-ID: in QEMU it runs without its privileges", plugin.program);
	else if (info.st_mode & S_ISGID && info.st_mode & S_IXGRP && info.st_gid != getegid())
		plugin_note(slot, 1, "%s is set-group-ID: in QEMU it runs without its privileges", plugin.program);
	else if (geteuid() && getxattr(plugin.program, "security.capability", NULL, 0) > 0)
		plugin_note(slot, 1, "%s has capabilities: in QEMU it runs without them", plugin.program);
}

void plugin_start_program(struct qemu_slot *slot, unsigned vcpu, const struct plugin_block *block)
{
	struct initial_stack stack;
	uint64_t rsp = plugin_guest_register(plugin.vcpus[vcpu].env, PLUGIN_RSP);
	uint8_t bytes[2 * PLUGIN_PAGE];
	size_t size = (size_t)(block->end - block->start);

	plugin.started = true;
	plugin_mapping_begin(slot);
	if (!plugin.continued)
		send_process_start(slot);
	if (!read_initial_stack(rsp, &stack)) {
		plugin_note(slot, 1,
			    "this QEMU keeps the program's registers elsewhere than QEMU 7.2 does: not "
			    "tracing");
		__atomic_add_fetch(&plugin.header->untraced_processes, 1, __ATOMIC_RELAXED);
		plugin_stop();
		return;
	}
	send_exec(slot, &stack);
	warn_of_privileges(slot);
	add_images(slot, &stack);
	/* The first block was translated before the program was announced. */
	if (plugin.config.truth)
		plugin_truth_define(slot, block);
	if (size <= sizeof(bytes) && plugin_guest_read(block->start, bytes, size))
		plugin_mapping_translated(slot, block->start, bytes, size);
}
