/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs plugins outside of any ELF loader: reads the format of private_format.h, maps each section with its own
 * protection, relocates, and calls the entry. The sections of one plugin are mapped from the file and then
 * relocated in place (so memory differs from the file); the sections of the other are decoded into anonymous
 * memory. Plugins are unloaded and loaded again, at other places and at the same place. The .plugin files lie
 * beside the program.
 */
#include "private_loading.h"

static void load_section(const struct plugin *plugin, const struct private_section *section)
{
	uint8_t *at = plugin->base + section->memory_offset;
	int mapped = plugin->header.key == 0 && section->file_size;

	CHECK(mmap(at, pages_of(section->memory_size), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_FIXED | (mapped ? 0 : MAP_ANONYMOUS), mapped ? plugin->fd : -1,
		   mapped ? (off_t)section->file_offset : 0) == at);
	if (mapped) {
		memset(at + section->file_size, 0, pages_of(section->memory_size) - section->file_size);
		return;
	}
	decode_section(plugin, section);
}

static void load(struct plugin *plugin, const char *name, void *where)
{
	open_plugin(plugin, name);
	plugin->base = mmap(where, plugin->header.memory_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(plugin->base != MAP_FAILED);
	for (uint32_t i = 0; i < plugin->header.sections; i++)
		load_section(plugin, &plugin->section[i]);
	relocate(plugin);
	protect(plugin);
}

static void unload(struct plugin *plugin)
{
	CHECK(munmap(plugin->base, plugin->header.memory_size) == 0);
	close(plugin->fd);
}

int main(void)
{
	static const char *const names[] = {"collatz", "sorter"};
	struct plugin plugin[2];
	void *where = NULL;
	int sum = 0;

	for (int round = 0; round < 6; round++) {
		/* both plugins at once, then in turn at one address */
		load(&plugin[0], names[0], NULL);
		load(&plugin[1], names[1], NULL);
		for (int i = 0; i < 10; i++)
			sum += call(&plugin[i % 2], 3 + i + round);
		unload(&plugin[1]);
		unload(&plugin[0]);
		for (int i = 0; i < 2; i++) {
			load(&plugin[i], names[i], where);
			where = plugin[i].base;
			sum += call(&plugin[i], 7);
			unload(&plugin[i]);
		}
	}
	CHECK(calls > 0);
	printf("private_loader %d, %u calls back\n", sum, calls);
	return 0;
}
