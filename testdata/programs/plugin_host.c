/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The use case of rules: a program with its own plugin loader. The loader decodes plugins of private_format.h into
 * memory at addresses of its choice and relocates the plugins there, so no tool knows them.
 *
 *     plugin_host           reports its plugins with a provider, "Plugin-Loader"
 *     plugin_host silent    reports nothing
 *
 * The first plugin is loaded before the provider exists, so no recorder sees it in either case. The second is
 * unloaded, and the third takes its address.
 */
#include <ptl/provider.h>

#include "private_loading.h"

#define FIRST_PLACE 0x6000000000ul
#define SECOND_PLACE 0x6000100000ul

PTL_PROVIDER(loader, "Plugin-Loader");
PTL_EVENT(loader, plugin_loaded, 1, "PluginLoaded", PTL_LEVEL_INFORMATIONAL, 0, "{2} is at {0}", PTL_POINTER(Base),
	  PTL_U64(Size), PTL_UTF8(Path));
PTL_EVENT(loader, plugin_unloaded, 2, "PluginUnloaded", PTL_LEVEL_INFORMATIONAL, 0, "{0} is free again",
	  PTL_POINTER(Base));

static void load(struct plugin *plugin, const char *name, uintptr_t where)
{
	open_plugin(plugin, name);
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
