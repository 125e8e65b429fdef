/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Alternates dlopen and dlclose of two libraries with the same address: code and symbols of
 * an address change over time. The libraries lie beside the program. They are linked at a
 * fixed address, which the dynamic linker grants because the program is not
 * position-independent.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static char folder[4096];

static void find_folder(void)
{
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	char *slash;

	CHECK(n > 0);
	folder[n] = '\0';
	slash = strrchr(folder, '/');
	CHECK(slash);
	*slash = '\0';
}

static int call(const char *name, int x, unsigned long *base)
{
	char path[4200];
	struct link_map *map;
	void *library;
	int (*reuse)(int);
	int result;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	library = dlopen(path, RTLD_NOW);
	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(library);
	CHECK(dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
	*base = map->l_addr;
	reuse = (int (*)(int))dlsym(library, "reuse");
	CHECK(reuse);
	result = reuse(x);
	CHECK(dlclose(library) == 0);
	return result;
}

int main(void)
{
	unsigned long first = 0;
	unsigned long second = 0;
	int sum = 0;

	find_folder();
	for (int i = 0; i < 20; i++) {
		sum += call("libreuse_a.so", i, &first);
		sum += call("libreuse_b.so", i, &second);
		CHECK(first == second);
	}
	printf("dlopen_reuse %d\n", sum);
	return 0;
}
