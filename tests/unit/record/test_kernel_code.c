/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests reading the kernel's code, from made files in a folder that replaces /. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <ptl/reader.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/file.h"
#include "flow/timeline/timeline.h"
#include "record/capture/machine.h"
#include "record/kernel_code/kernel_code.h"
#include "elf/kernel_images.h"

#define KERNEL 0xffffffff9a000000ull /* address of the kernel in memory */
#define LINKED 0xffffffff81000000ull /* address of the kernel in its file */

struct fixture {
	char folder[32];
	char path[64];
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	strcpy(fixture->folder, "/tmp/ptl-kernel-XXXXXX");
	if (!fixture || !mkdtemp(fixture->folder))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/out.ptl", fixture->folder);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", fixture->folder);
	free(fixture);
	return system(command);
}

/* Writes a file below the folder, and makes its folders. */
static void put(const struct fixture *fixture, const char *name, const void *data, size_t size)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", fixture->folder, name);
	for (char *slash = path + strlen(fixture->folder) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = 0;
		(void)mkdir(path, 0700);
	}
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void put_symbols(const struct fixture *fixture)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "%llx T _stext\n%llx T first\n%llx t second\n%llx T _etext\n%llx T gone_after_start\n"
		 "ffffffffc0000010 t module_function\t[mod]\nffffffffc0400020 t bpf_prog_1\t[bpf]\n",
		 KERNEL, KERNEL, KERNEL + 0x10, KERNEL + 0x1800, KERNEL + 0x3000);
	put(fixture, "/proc/kallsyms", text, strlen(text));
}

struct note {
	Elf64_Nhdr header;
	char name[4];
	uint8_t id[20];
};

static const struct note note = {{4, 20, NT_GNU_BUILD_ID}, "GNU", {1, 2, 3, 4, 5}};

/* An ELF file with a range of code; all bytes are 7. */
struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	struct note note;
	uint8_t code[0x2000];
};

static void make_file(struct file *file, uint16_t type, uint64_t address)
{
	*file = (struct file){
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = type,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = offsetof(struct file, segments),
			   .e_ehsize = sizeof(Elf64_Ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 2},
		.segments = {{.p_type = PT_NOTE,
			      .p_offset = offsetof(struct file, note),
			      .p_filesz = sizeof(note),
			      .p_align = 4},
			     {.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_offset = offsetof(struct file, code),
			      .p_vaddr = address,
			      .p_filesz = sizeof(file->code),
			      .p_memsz = sizeof(file->code)}},
		.note = note,
	};
	memset(file->code, 7, sizeof(file->code));
}

/* Records the kernel's code into a trace, and opens the trace. */
static struct ptl_trace *record_wish(const struct fixture *fixture, enum record_kernel_wish wish, enum elf_embed embed,
				     void (*meanwhile)(const struct fixture *fixture), struct flow_timeline **timeline)
{
	char *const words[] = {(char *)"test", NULL};
	const struct record_settings settings = {
		.force = true, .level = 1, .embed = embed, .clock = PTL_CLOCK_MONOTONIC, .command_line = words};
	struct record_kernel_code *code = NULL;
	struct record_capture capture;
	struct record_wait wait;
	struct ptl_machine machine;
	struct ptl_trace *trace;

	record_machine_describe(&settings, &machine);
	assert_int_equal(record_wait_open(&wait), 0);
	assert_int_equal(record_capture_open(&capture, &settings, fixture->path, &machine), 0);
	assert_int_equal(record_kernel_code_open(&capture, fixture->folder, wish, &wait, &code), 0);
	assert_int_equal(record_kernel_code_step(code, 0), 0);
	if (meanwhile) {
		meanwhile(fixture);
		assert_int_equal(record_kernel_code_step(code, UINT64_MAX), 0);
	}
	record_wait_close(&wait);
	record_kernel_code_close(code);
	assert_int_equal(record_capture_close(&capture, record_now()), 0);
	assert_int_equal(ptl_open(fixture->path, NULL, &trace), 0);
	assert_int_equal(flow_timeline_build(trace, timeline), 0);
	return trace;
}

static struct ptl_trace *record(const struct fixture *fixture, enum elf_embed embed, struct flow_timeline **timeline)
{
	return record_wish(fixture, RECORD_KERNEL_CODE, embed, NULL, timeline);
}

static const struct flow_timeline_image *find(const struct flow_timeline *timeline, const char *name)
{
	for (size_t i = 0; i < flow_timeline_image_count(timeline); i++)
		if (!strcmp(flow_timeline_image(timeline, i)->data.file_name, name))
			return flow_timeline_image(timeline, i);
	fail_msg("no image %s", name);
	return NULL;
}

static bool is_lost(const struct ptl_trace *trace, const char *text)
{
	for (size_t i = 0; i < ptl_loss_count(trace); i++)
		if (strstr(ptl_loss_at(trace, i)->cause, text))
			return true;
	return false;
}

static void close_all(struct ptl_trace *trace, struct flow_timeline *timeline)
{
	flow_timeline_free(timeline);
	ptl_close(trace);
}

static void from_core(void **state)
{
	const struct fixture *fixture = *state;
	const struct flow_timeline_image *kernel, *module;
	struct flow_timeline *timeline;
	struct ptl_trace *trace;
	struct flow_place place;
	struct file core;

	put_symbols(fixture);
	put(fixture, "/sys/kernel/notes", &note, sizeof(note));
	put(fixture, "/sys/module/mod/notes/.note.gnu.build-id", &note, sizeof(note));
	make_file(&core, ET_CORE, KERNEL);
	put(fixture, "/proc/kcore", &core, sizeof(core));
	trace = record(fixture, ELF_EMBED_SYMBOLS, &timeline);
	kernel = find(timeline, "[kernel]");
	module = find(timeline, "[mod]");
	/* Memory behind the end is not the kernel's code. */
	assert_int_equal(kernel->data.base, KERNEL);
	assert_int_equal(kernel->data.size, 0x1800);
	assert_int_equal(kernel->data.default_base, LINKED);
	assert_true(kernel->rundown && kernel->data.has_code && kernel->data.has_symbols);
	assert_int_equal(kernel->data.build_id_size, 20);
	assert_int_equal(module->data.base, 0xffffffffc0000000);
	assert_int_equal(module->data.build_id_size, 20);
	assert_false(module->data.has_code);
	assert_int_equal(find(timeline, "[bpf_prog_1]")->data.base, 0xffffffffc0400020);
	assert_true(is_lost(trace, "/proc/kcore does not have all code of the kernel: what [mod], [bpf_prog_1]"));
	/* Valid from the beginning of the trace, in process 0. */
	assert_true(flow_timeline_find(timeline, kernel->process, 0, KERNEL + 0x17ff, &place) && place.has_code);
	assert_false(flow_timeline_find(timeline, kernel->process, 0, KERNEL + 0x1800, &place));
	assert_int_equal(flow_timeline_process(timeline, kernel->process)->pid, 0);
	close_all(trace, timeline);
}

/* Without kcore the kernel's own file is used, at any load address. A file of another kernel is not used. */
static void from_vmlinux(void **state)
{
	const struct fixture *fixture = *state;
	struct flow_timeline *timeline;
	struct ptl_trace *trace;
	struct utsname release;
	struct file vmlinux;
	char name[128];

	put_symbols(fixture);
	put(fixture, "/sys/kernel/notes", &note, sizeof(note));
	make_file(&vmlinux, ET_EXEC, LINKED - 0x1000000);
	assert_int_equal(uname(&release), 0);
	snprintf(name, sizeof(name), "/lib/modules/%s/vmlinux", release.release);
	put(fixture, name, &vmlinux, sizeof(vmlinux));
	trace = record(fixture, ELF_EMBED_CODE, &timeline);
	assert_true(find(timeline, "[kernel]")->data.has_code);
	assert_false(find(timeline, "[kernel]")->data.has_symbols);
	assert_int_equal(find(timeline, "[kernel]")->data.default_base, LINKED - 0x1000000);
	assert_false(find(timeline, "[mod]")->data.has_code);
	assert_true(is_lost(trace, "is that of its file"));
	assert_true(is_lost(trace, "a kernel with CONFIG_PROC_KCORE has it"));
	/* A module's file differs from the code in memory. */
	assert_true(is_lost(trace, "what [mod], [bpf_prog_1]"));
	assert_true(is_lost(trace, "only /proc/kcore has code of the kernel as it was loaded"));
	close_all(trace, timeline);

	vmlinux.note.id[0] ^= 1;
	put(fixture, name, &vmlinux, sizeof(vmlinux));
	trace = record(fixture, ELF_EMBED_CODE, &timeline);
	assert_false(find(timeline, "[kernel]")->data.has_code);
	assert_true(is_lost(trace, "code of the kernel is not read"));
	close_all(trace, timeline);
}

/* No code is read, without a loss. */
static void embed_none(void **state)
{
	const struct fixture *fixture = *state;
	struct flow_timeline *timeline;
	struct ptl_trace *trace;

	put_symbols(fixture);
	trace = record(fixture, ELF_EMBED_NONE, &timeline);
	assert_false(find(timeline, "[kernel]")->data.has_code);
	assert_false(is_lost(trace, "code of the kernel is not read"));
	close_all(trace, timeline);
}

/* Names are read while the recorder runs; meanwhile the list is empty. */
static void names_meanwhile(void **state)
{
	const struct fixture *fixture = *state;
	const struct flow_timeline_image *kernel;
	struct flow_timeline *timeline;
	struct ptl_trace *trace;
	char path[200];

	put(fixture, "/proc/version", "", 0);
	snprintf(path, sizeof(path), "%s/proc/kallsyms", fixture->folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	trace = record_wish(fixture, RECORD_KERNEL_NAMES, ELF_EMBED_CODE, put_symbols, &timeline);
	kernel = find(timeline, "[kernel]");
	assert_int_equal(kernel->data.base, KERNEL);
	assert_true(kernel->rundown && kernel->data.has_symbols && !kernel->data.has_code);
	assert_true(find(timeline, "[mod]")->data.has_symbols);
	close_all(trace, timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(from_core, set_up, tear_down),
		cmocka_unit_test_setup_teardown(from_vmlinux, set_up, tear_down),
		cmocka_unit_test_setup_teardown(embed_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_meanwhile, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
