/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loading plugins of private_format.h, and the plugins' calls into the host. Each loader chooses kind and place of the
 * memory.
 */
#ifndef TESTDATA_PROGRAMS_PRIVATE_LOADING_H
#define TESTDATA_PROGRAMS_PRIVATE_LOADING_H

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "private_format.h"

#define PAGE 4096ul
#define SECTIONS_MAX 16u

struct plugin {
	struct private_header header;
	struct private_section section[SECTIONS_MAX];
	char path[4200];
	uint8_t *base;
	int fd;
};

static unsigned host_sum(unsigned a, unsigned b)
{
	return a + b;
}

static unsigned host_scale(unsigned a)
{
	return a * 5 + 1;
}

static unsigned calls;

static void host_count(void)
{
	calls++;
}

static const uintptr_t functions[PRIVATE_FUNCTIONS] = {
	(uintptr_t)host_sum,
	(uintptr_t)host_scale,
	(uintptr_t)host_count,
};

static void read_at(const struct plugin *plugin, void *to, uint64_t size, uint64_t offset)
{
	CHECK(pread(plugin->fd, to, size, (off_t)offset) == (ssize_t)size);
}

static uint64_t pages_of(uint64_t size)
{
	return (size + PAGE - 1) & ~(PAGE - 1);
}

/* Decodes a section into writable memory. */
static void decode_section(const struct plugin *plugin, const struct private_section *section)
{
	uint8_t *at = plugin->base + section->memory_offset;

	CHECK(section->memory_offset + section->memory_size <= plugin->header.memory_size &&
	      section->file_size <= section->memory_size);
	read_at(plugin, at, section->file_size, section->file_offset);
	for (uint64_t i = 0; i < section->file_size; i++)
		at[i] ^= (uint8_t)plugin->header.key;
}

static void relocate(const struct plugin *plugin)
{
	uint64_t offset = sizeof(plugin->header) + plugin->header.sections * sizeof(plugin->section[0]);

	for (uint32_t i = 0; i < plugin->header.relocations; i++) {
		struct private_relocation relocation;
		uint64_t value;

		read_at(plugin, &relocation, sizeof(relocation), offset + i * sizeof(relocation));
		CHECK(relocation.where <= plugin->header.memory_size - sizeof(value));
		CHECK(relocation.function <= PRIVATE_FUNCTIONS);
		value = relocation.function == PRIVATE_FUNCTIONS ? (uintptr_t)plugin->base
								 : functions[relocation.function];
		value += (uint64_t)relocation.addend;
		memcpy(plugin->base + relocation.where, &value, sizeof(value));
	}
}

static void protect(const struct plugin *plugin)
{
	for (uint32_t i = 0; i < plugin->header.sections; i++) {
		const struct private_section *section = &plugin->section[i];
		int protection = (section->protection & PRIVATE_READ ? PROT_READ : 0) |
				 (section->protection & PRIVATE_WRITE ? PROT_WRITE : 0) |
				 (section->protection & PRIVATE_EXECUTE ? PROT_EXEC : 0);

		CHECK(mprotect(plugin->base + section->memory_offset, pages_of(section->memory_size), protection) == 0);
	}
}

static int call(const struct plugin *plugin, int x)
{
	return ((int (*)(int))(uintptr_t)(plugin->base + plugin->header.entry))(x);
}

/* The .plugin files lie beside the program. */
static void find(struct plugin *plugin, const char *name)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	CHECK(n > 0);
	self[n] = '\0';
	slash = strrchr(self, '/');
	CHECK(slash);
	*slash = '\0';
	CHECK(snprintf(plugin->path, sizeof(plugin->path), "%s/%s.plugin", self, name) < (int)sizeof(plugin->path));
}

/* Opens the plugin's file, and reads all data available before its memory exists. */
static void open_plugin(struct plugin *plugin, const char *name)
{
	find(plugin, name);
	plugin->fd = open(plugin->path, O_RDONLY | O_CLOEXEC);
	CHECK(plugin->fd >= 0);
	read_at(plugin, &plugin->header, sizeof(plugin->header), 0);
	CHECK(plugin->header.magic == PRIVATE_MAGIC && plugin->header.sections <= SECTIONS_MAX);
	read_at(plugin, plugin->section, plugin->header.sections * sizeof(plugin->section[0]), sizeof(plugin->header));
}

#endif
