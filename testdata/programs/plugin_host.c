/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What rules are for: a program with a plugin loader of its own. It decodes plugins of private_format.h into
 * memory at addresses that it chooses and relocates them there, so that no tool knows of them.
 *
 *     plugin_host           tells of its plugins with a provider, "Plugin-Loader"
 *     plugin_host silent    tells nobody
 *
 * The first plugin is there before the provider is, so that nobody hears of it in either case. The second one is
 * unloaded, and the third one takes its address.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/provider.h>

#include "check.h"
#include "private_format.h"

#define PAGE 4096ul
#define SECTIONS_MAX 16u
#define FIRST_PLACE 0x6000000000ul
#define SECOND_PLACE 0x6000100000ul

PTL_PROVIDER(loader, "Plugin-Loader");
PTL_EVENT(loader, plugin_loaded, 1, "PluginLoaded", PTL_LEVEL_INFORMATIONAL, 0, "{2} is at {0}",
	  PTL_POINTER(Base), PTL_U64(Size), PTL_UTF8(Path));
PTL_EVENT(loader, plugin_unloaded, 2, "PluginUnloaded", PTL_LEVEL_INFORMATIONAL, 0, "{0} is free again",
	  PTL_POINTER(Base));

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

		/* PRIVATE_READ and so on are the bits of mmap(2). */
		CHECK(mprotect(plugin->base + section->memory_offset,
			       (section->memory_size + PAGE - 1) & ~(PAGE - 1), (int)section->protection) == 0);
	}
}

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
	CHECK(snprintf(plugin->path, sizeof(plugin->path), "%s/%s.plugin", self, name) <
	      (int)sizeof(plugin->path));
}

static void load(struct plugin *plugin, const char *name, uintptr_t where)
{
	find(plugin, name);
	plugin->fd = open(plugin->path, O_RDONLY | O_CLOEXEC);
	CHECK(plugin->fd >= 0);
	read_at(plugin, &plugin->header, sizeof(plugin->header), 0);
	CHECK(plugin->header.magic == PRIVATE_MAGIC && plugin->header.sections <= SECTIONS_MAX);
	read_at(plugin, plugin->section, plugin->header.sections * sizeof(plugin->section[0]),
		sizeof(plugin->header));
	plugin->base = mmap((void *)where, plugin->header.memory_size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(plugin->base == (uint8_t *)where);
	for (uint32_t i = 0; i < plugin->header.sections; i++)
		decode_section(plugin, &plugin->section[i]);
	relocate(plugin);
	protect(plugin);
	close(plugin->fd);
	plugin_loaded(plugin->base, plugin->header.memory_size, plugin->path);
}

static int call(const struct plugin *plugin, int x)
{
	return ((int (*)(int))(uintptr_t)(plugin->base + plugin->header.entry))(x);
}

static void unload(struct plugin *plugin)
{
	plugin_unloaded(plugin->base);
	CHECK(munmap(plugin->base, plugin->header.memory_size) == 0);
}

int main(int argc, char **argv)
{
	static struct plugin early, first, second;
	bool silent = argc > 1 && !strcmp(argv[1], "silent");
	int sum = 0;

	load(&early, "collatz", FIRST_PLACE);
	sum += call(&early, 27);
	if (!silent && ptl_provider_register(&loader))
		perror("plugin_host: no events");

	load(&first, "sorter", SECOND_PLACE);
	sum += call(&first, 3) + call(&early, 7);
	unload(&first);

	load(&second, "mixer", SECOND_PLACE);
	sum += call(&second, 5) + call(&early, 9);

	CHECK(calls == 5);
	printf("plugin_host %d, %u calls back\n", sum, calls);
	if (!silent)
		ptl_provider_unregister(&loader);
	return 0;
}
