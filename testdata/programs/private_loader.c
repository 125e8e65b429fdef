/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs plugins that no ELF loader knows: it reads the private format of private_format.h, maps each
 * section with its own protection, relocates, and calls in. One plugin's sections are mapped from
 * the file and then relocated in place (so memory differs from the file); the other's are decoded
 * into anonymous memory. Plugins are unloaded and loaded again, elsewhere and at the same place.
 * The .plugin files lie beside the program.
 */
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

static void load_section(const struct plugin *plugin, const struct private_section *section)
{
	uint8_t *at = plugin->base + section->memory_offset;
	int mapped = plugin->header.key == 0 && section->file_size;

	CHECK(mmap(at, pages_of(section->memory_size), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_FIXED | (mapped ? 0 : MAP_ANONYMOUS), mapped ? plugin->fd : -1,
		   mapped ? (off_t)section->file_offset : 0) == at);
	if (mapped) {
		memset(at + section->file_size, 0,
		       pages_of(section->memory_size) - section->file_size);
		return;
	}
	read_at(plugin, at, section->file_size, section->file_offset);
	for (uint64_t i = 0; i < section->file_size; i++)
		at[i] ^= (uint8_t)plugin->header.key;
}

static void relocate(const struct plugin *plugin)
{
	uint64_t offset = sizeof(plugin->header) +
			  plugin->header.sections * sizeof(plugin->section[0]);

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

		CHECK(mprotect(plugin->base + section->memory_offset,
			       pages_of(section->memory_size), protection) == 0);
	}
}

static void load(struct plugin *plugin, const char *path, void *where)
{
	plugin->fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(plugin->fd >= 0);
	read_at(plugin, &plugin->header, sizeof(plugin->header), 0);
	CHECK(plugin->header.magic == PRIVATE_MAGIC && plugin->header.sections <= SECTIONS_MAX);
	read_at(plugin, plugin->section, plugin->header.sections * sizeof(plugin->section[0]),
		sizeof(plugin->header));
	plugin->base = mmap(where, plugin->header.memory_size, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(plugin->base != MAP_FAILED);
	for (uint32_t i = 0; i < plugin->header.sections; i++)
		load_section(plugin, &plugin->section[i]);
	relocate(plugin);
	protect(plugin);
}

static int call(const struct plugin *plugin, int x)
{
	return ((int (*)(int))(uintptr_t)(plugin->base + plugin->header.entry))(x);
}

static void unload(struct plugin *plugin)
{
	CHECK(munmap(plugin->base, plugin->header.memory_size) == 0);
	close(plugin->fd);
}

static void find(char *path, size_t size, const char *name)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	CHECK(n > 0);
	self[n] = '\0';
	slash = strrchr(self, '/');
	CHECK(slash);
	*slash = '\0';
	CHECK(snprintf(path, size, "%s/%s.plugin", self, name) < (int)size);
}

int main(void)
{
	static const char *const names[] = {"collatz", "sorter"};
	struct plugin plugin[2];
	char path[2][4200];
	void *where = NULL;
	int sum = 0;

	for (int i = 0; i < 2; i++)
		find(path[i], sizeof(path[i]), names[i]);
	for (int round = 0; round < 6; round++) {
		/* Both at once, then one after the other at one address. */
		load(&plugin[0], path[0], NULL);
		load(&plugin[1], path[1], NULL);
		for (int i = 0; i < 10; i++)
			sum += call(&plugin[i % 2], 3 + i + round);
		unload(&plugin[1]);
		unload(&plugin[0]);
		for (int i = 0; i < 2; i++) {
			load(&plugin[i], path[i], where);
			where = plugin[i].base;
			sum += call(&plugin[i], 7);
			unload(&plugin[i]);
		}
	}
	CHECK(calls > 0);
	printf("private_loader %d, %u calls back\n", sum, calls);
	return 0;
}
