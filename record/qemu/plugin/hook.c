/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions put before those that QEMU calls: to notice when it kills its process, and to mend its child of fork. */

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/qemu/plugin/guest.h"
#include "record/qemu/plugin/plugin.h"

/*
 * QEMU ends a program whose signal has the default action by kill(getpid(), signal), with the
 * guest's registers as they were when the signal arrived. It calls kill() for nothing else: the
 * guest's own kill is a system call it makes itself. It is a dynamically linked program, so its
 * calls go through its table of imports, where we put our functions. Nothing of this is visible to
 * the program or to its children.
 */

typedef int (*kill_function)(pid_t pid, int signal);

static kill_function real_kill = kill;

static int hooked_kill(pid_t pid, int signal)
{
	struct qemu_slot *slot = plugin_thread_slot;

	if (pid == getpid() && slot && !__atomic_load_n(&plugin.stopped, __ATOMIC_RELAXED)) {
		struct qemu_message_exit message = {.header.type = QEMU_MSG_EXIT, .status = (uint32_t)signal};
		uint64_t ip = plugin_guest_register(plugin.vcpus[plugin_thread_vcpu].env, PLUGIN_RIP);

		slot->stop_signal = (uint32_t)signal;
		plugin_leave_for_death(slot, ip, plugin_is_fault_signal(signal));
		plugin_cpu_give(slot);
		plugin_send(slot, &message.header, sizeof(message), NULL, 0);
		plugin_thread_end(plugin_thread_vcpu);
	}
	return real_kill(pid, signal);
}

/* The only line QEMU prints this way that concerns us is the one about an uncaught signal. */
static const char uncaught[] = "qemu: uncaught target signal";

__attribute__((format(printf, 2, 3))) static int hooked_fprintf(FILE *stream, const char *format, ...)
{
	va_list arguments;
	int result;

	if (!strncmp(format, uncaught, sizeof(uncaught) - 1))
		return 0;
	va_start(arguments, format);
	result = vfprintf(stream, format, arguments);
	va_end(arguments);
	return result;
}

__attribute__((format(printf, 3, 4))) static int hooked_fprintf_chk(FILE *stream, int flag, const char *format, ...)
{
	va_list arguments;
	int result;

	(void)flag;
	if (!strncmp(format, uncaught, sizeof(uncaught) - 1))
		return 0;
	va_start(arguments, format);
	result = vfprintf(stream, format, arguments);
	va_end(arguments);
	return result;
}

/*
 * QEMU has a table of its threads for plugins, whose entries are keys themselves. In a child of fork it forgets to take out
 * the threads that only the parent has, and gives up at the first new thread that gets the number of one of them.
 */
typedef int (*hash_insert_function)(void *table, void *key, void *value);
typedef int (*hash_remove_function)(void *table, const void *key);

static hash_insert_function real_hash_insert;
static hash_remove_function real_hash_remove;

static int hooked_hash_insert(void *table, void *key, void *value)
{
	if (key == value && plugin_fork_creates())
		real_hash_remove(table, key);
	return real_hash_insert(table, key, value);
}

static void find_hash_functions(void)
{
	real_hash_insert = (hash_insert_function)dlsym(RTLD_DEFAULT, "g_hash_table_insert");
	real_hash_remove = (hash_remove_function)dlsym(RTLD_DEFAULT, "g_hash_table_remove");
}

static const struct {
	const char *name;
	void (*function)(void);
} hooks[] = {
	{"kill", (void (*)(void))hooked_kill},
	{"fprintf", (void (*)(void))hooked_fprintf},
	{"__fprintf_chk", (void (*)(void))hooked_fprintf_chk},
	{"g_hash_table_insert", (void (*)(void))hooked_hash_insert},
};

/* What the dynamic section of QEMU's executable says. */
struct imports {
	const char *strings;
	const Elf64_Sym *symbols;
	const Elf64_Rela *tables[2];
	size_t sizes[2]; /* in bytes */
};

static void read_dynamic(const Elf64_Dyn *dynamic, struct imports *imports)
{
	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		switch (dynamic->d_tag) {
		case DT_STRTAB:
			imports->strings = (const char *)dynamic->d_un.d_ptr;
			break;
		case DT_SYMTAB:
			imports->symbols = (const Elf64_Sym *)dynamic->d_un.d_ptr;
			break;
		case DT_JMPREL:
			imports->tables[0] = (const Elf64_Rela *)dynamic->d_un.d_ptr;
			break;
		case DT_PLTRELSZ:
			imports->sizes[0] = dynamic->d_un.d_val;
			break;
		case DT_RELA:
			imports->tables[1] = (const Elf64_Rela *)dynamic->d_un.d_ptr;
			break;
		case DT_RELASZ:
			imports->sizes[1] = dynamic->d_un.d_val;
			break;
		default:
			break;
		}
	}
}

/* The table of imports is read-only after the dynamic linker has filled it. */
static bool put_import(uint64_t address, void (*function)(void))
{
	uintptr_t page = address & ~4095ull;
	size_t size = address + sizeof(function) - page;

	if (mprotect((void *)page, size, PROT_READ | PROT_WRITE))
		return false;
	memcpy((void *)address, &function, sizeof(function));
	mprotect((void *)page, size, PROT_READ);
	return true;
}

static bool hook_table(const struct imports *imports, size_t which, uint64_t base)
{
	size_t count = imports->sizes[which] / sizeof(Elf64_Rela);
	bool found_kill = false;

	for (size_t i = 0; i < count; i++) {
		const Elf64_Rela *entry = &imports->tables[which][i];
		uint64_t type = ELF64_R_TYPE(entry->r_info);

		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
			continue;

		const char *name = imports->strings + imports->symbols[ELF64_R_SYM(entry->r_info)].st_name;

		for (size_t j = 0; j < sizeof(hooks) / sizeof(hooks[0]); j++)
			if (!strcmp(name, hooks[j].name) && put_import(base + entry->r_offset, hooks[j].function))
				found_kill |= j == 0;
	}
	return found_kill;
}

/* The first object is the program itself. */
static int hook_program(struct dl_phdr_info *info, size_t size, void *found)
{
	struct imports imports = {0};

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			read_dynamic((const Elf64_Dyn *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr), &imports);
	if (imports.strings && imports.symbols)
		for (size_t which = 0; which < 2; which++)
			*(bool *)found |= hook_table(&imports, which, info->dlpi_addr);
	return 1;
}

bool plugin_hook_install(void)
{
	bool found = false;

	find_hash_functions();
	dl_iterate_phdr(hook_program, &found);
	return found;
}
