/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns the kernel's code, as shown and reported by the kernel, into facts about process 0. */
#include "record/kernel_code/kernel_code.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "record/capture/background.h"
#include "record/capture/machine.h"
#include "record/clock/clock.h"
#include "elf/kernel_files.h"
#include "elf/kernel_images.h"
#include "record/perf/sideband.h"
#include "record/proc/proc_files.h"

#define NUMBER (UINT32_MAX - 1)        /* process number of process 0; record/observe counts from 1 */
#define IMAGE_MAX ((size_t)256 << 20)  /* bytes; the largest kernels have about 30 MiB */
#define USUAL_TEXT 0xffffffff81000000u /* CONFIG_PHYSICAL_START of x86-64, the default without a vmlinux */
#define ALIGNMENT 0x200000u            /* granularity of the kernel's address randomisation */

struct record_kernel_code {
	struct record_capture *capture;
	const char *root;
	enum record_kernel_wish wish;
	struct elf_kernel_file *core, *vmlinux; /* NULL if unavailable */
	uint64_t bias;                          /* distance of the kernel's code from vmlinux, or from USUAL_TEXT */
	struct record_sideband *sideband;       /* reports of changes; NULL without permission */
	uint64_t since, epoch;
	struct record_background reading; /* reads existing code on a thread, if reading would delay others */
	struct elf_kernel_images images;
	uint64_t unread;        /* images without bytes */
	char unread_names[200]; /* names of the first unread images: "[ext4], [xfs]" */
};

/* ---- facts ----------------------------------------------------------------------------------- */

static int send(struct record_kernel_code *code, enum record_fact_kind kind, struct record_fact *fact, uint64_t time)
{
	fact->kind = kind;
	fact->process = NUMBER;
	fact->time = time;
	fact->epoch = ++code->epoch;
	return record_model_fact(code->capture->model, fact, record_now());
}

static int send_process(struct record_kernel_code *code, uint64_t time)
{
	struct record_fact start = {.rundown = true}, program = {.pid = 0};
	struct ptl_bytes strings = {0};
	int status;

	record_proc_name_strings(&strings, "[kernel]", "[kernel]");
	program.exec.program = (struct record_program){strings.data, strings.size};
	status = strings.failed ? common_fail_memory("command line", strings.size)
				: send(code, RECORD_FACT_PROCESS_START, &start, time);
	if (status == 0)
		status = send(code, RECORD_FACT_EXEC, &program, time);
	common_bytes_free(&strings);
	return status;
}

static int lose_reports(struct record_kernel_code *code, uint64_t count, uint64_t time, const char *cause)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_CODE,
		.stream = PTL_NO_ID,
		.pid = 0,
		.tid = PTL_NO_ID,
		.count = count,
		.first_time = time,
		.cause = cause,
	};

	return record_capture_loss(code->capture, &loss);
}

/* ---- images ---------------------------------------------------------------------------------- */

/* Reads the contiguous readable bytes at `base`. */
static size_t read_bytes(const struct record_kernel_code *code, uint64_t base, bool own, uint8_t *bytes, size_t size)
{
	size_t got = code->core ? elf_kernel_file_read(code->core, base, bytes, size) : 0;

	if (!got && own && code->vmlinux)
		got = elf_kernel_file_read(code->vmlinux, base - code->bias, bytes, size);
	return got;
}

static void note_unread(struct record_kernel_code *code, const char *name)
{
	const size_t used = strlen(code->unread_names);

	code->unread++;
	if (used + strlen(name) + sizeof(", ") <= sizeof(code->unread_names))
		snprintf(code->unread_names + used, sizeof(code->unread_names) - used, "%s%s", used ? ", " : "", name);
}

static int put_code(struct record_kernel_code *code, bool own, struct ptl_image_event *image)
{
	const size_t size = image->size < IMAGE_MAX ? (size_t)image->size : IMAGE_MAX;
	uint8_t *bytes = malloc(size);
	int status = 0;
	size_t got;

	if (!bytes)
		return common_fail_memory("code of the kernel", size);
	got = read_bytes(code, image->base, own, bytes, size);
	if (!got)
		note_unread(code, image->file_name);
	if (got)
		status = record_capture_blob(code->capture, PTL_BLOB_CODE, bytes, got, image->code);
	image->has_code = got != 0;
	free(bytes);
	return status;
}

static bool wants_symbols(const struct record_kernel_code *code)
{
	return code->wish == RECORD_KERNEL_NAMES || code->capture->settings->embed >= ELF_EMBED_SYMBOLS;
}

/* Encodes symbols at addresses of the image's file, which lie `bias` below. */
static int encode_symbols(const struct ptl_symbol *symbols, size_t count, uint64_t bias, struct ptl_bytes *encoded)
{
	struct ptl_symbol *own = reallocarray(NULL, count + 1, sizeof(*own));
	int status;

	if (!own)
		return common_fail_memory("symbols of the kernel", (count + 1) * sizeof(*own));
	for (size_t i = 0; i < count; i++) {
		own[i] = symbols[i];
		own[i].address -= bias;
	}
	status = ptl_symbols_encode(own, count, encoded);
	free(own);
	return status;
}

static uint64_t bias_of(const struct record_kernel_code *code, const char *module)
{
	return module && !*module ? code->bias : 0;
}

/*
 * Sends an image. module: NULL for code made at run time; "" for the kernel itself. symbols: encoded, unless unwanted.
 */
static int send_image(struct record_kernel_code *code, struct ptl_image_event *image, const char *module,
		      const struct ptl_bytes *symbols, uint64_t time, bool rundown)
{
	const enum elf_embed embed = code->capture->settings->embed;
	struct record_fact fact = {.rundown = rundown, .image = image};
	int status = 0;

	image->protection = PROT_READ | PROT_EXEC;
	image->default_base = image->base - bias_of(code, module);
	if (module)
		image->build_id_size = (uint8_t)elf_kernel_build_id(code->root, module, image->build_id);
	if (code->wish == RECORD_KERNEL_CODE && embed != ELF_EMBED_NONE)
		status = put_code(code, module && !*module, image);
	image->has_symbols = wants_symbols(code);
	if (status == 0 && image->has_symbols)
		status = record_capture_blob(code->capture, PTL_BLOB_SYMBOLS, symbols->data, symbols->size,
					     image->symbols);
	return status < 0 ? status : send(code, RECORD_FACT_IMAGE_MAP, &fact, time);
}

/* Returns the image's module; NULL for code made at run time. */
static const char *module_of(const struct elf_kernel_image *image)
{
	return image->made ? NULL : image->name;
}

static int send_images(struct record_kernel_code *code)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < code->images.count; i++) {
		const struct elf_kernel_image *found = &code->images.list[i];
		struct ptl_image_event image = {.base = found->base, .size = found->size};
		char name[600];

		snprintf(name, sizeof(name), "[%.512s]", *found->name ? found->name : "kernel");
		image.file_name = name;
		status = send_image(code, &image, module_of(found), &found->encoded, code->since, true);
	}
	return status;
}

/* ---- existing code --------------------------------------------------------------------------- */

/* Computes the distance of the kernel's code from its file, so that symbols match the file. */
static void find_bias(struct record_kernel_code *code)
{
	const uint64_t text = code->images.text & -(uint64_t)4096;
	uint64_t linked;

	if (!text)
		return;
	if (code->vmlinux && elf_kernel_file_text(code->vmlinux, &linked))
		code->bias = text - linked;
	else if (!((text - USUAL_TEXT) & (ALIGNMENT - 1)))
		code->bias = text - USUAL_TEXT;
}

/* Returns advice for access to `core`. */
static const char *advice_of(const char *core)
{
	if (access(core, F_OK) < 0)
		return "a kernel with CONFIG_PROC_KCORE has it";
	return "root may read it outside of containers, unless the kernel is locked down: ptl-record check";
}

/* Opens the source of the code's bytes. Reports a loss with the cause otherwise. */
static int open_files(struct record_kernel_code *code, uint64_t time)
{
	char path[ELF_KERNEL_PATH], why[400], cause[ELF_KERNEL_PATH + 1000];
	uint8_t id[PTL_BUILD_ID_MAX];

	snprintf(path, sizeof(path), "%.4000s/proc/kcore", code->root);
	if (elf_kernel_file_open(path, &code->core) == 0)
		return 0;
	snprintf(why, sizeof(why), "%.190s; %s", ptl_error_text(), advice_of(path));
	if (elf_kernel_find_file(code->root, NULL, id, elf_kernel_build_id(code->root, "", id), &code->vmlinux, path) ==
	    0)
		snprintf(cause, sizeof(cause),
			 "code of the kernel is that of its file %s: what it changed in itself since it started is not "
			 "known (%s)",
			 path, why);
	else
		snprintf(cause, sizeof(cause), "code of the kernel is not read: what it executed is a gap (%s; %.300s)",
			 why, ptl_error_text());
	return lose_reports(code, 1, time, cause);
}

/*
 * Reports images without bytes. A module's file cannot replace loaded code: the kernel patches returns, tracer calls,
 * CPU alternatives and static branches, and the packets follow the patched code.
 */
static int lose_unread(struct record_kernel_code *code)
{
	char cause[500];

	if (!code->unread)
		return 0;
	snprintf(cause, sizeof(cause),
		 code->core ? "/proc/kcore does not have all code of the kernel: what %s executed is a gap"
			    : "what %s executed is a gap: only /proc/kcore has code of the kernel as it was loaded",
		 code->unread_names);
	return lose_reports(code, code->unread, code->since, cause);
}

/* Does the slow part of reading existing code. Runs on a thread if only names are wanted. */
static int read_images(void *context)
{
	struct record_kernel_code *code = context;
	struct elf_kernel_images *images = &code->images;
	char path[ELF_KERNEL_PATH];
	int status;

	snprintf(path, sizeof(path), "%.4000s/proc/kallsyms", code->root);
	status = elf_kernel_images_read(path, images);
	if (status == 0)
		find_bias(code);
	for (size_t i = 0; status == 0 && wants_symbols(code) && i < images->count; i++) {
		struct elf_kernel_image *image = &images->list[i];

		status = encode_symbols(images->symbols.list + image->first, image->count,
					bias_of(code, module_of(image)), &image->encoded);
	}
	return status;
}

/* Sends the images. status: result of read_images. */
static int take_images(struct record_kernel_code *code, int status)
{
	char cause[400];

	if (status == PTL_SYSTEM) {
		snprintf(cause, sizeof(cause),
			 code->wish == RECORD_KERNEL_NAMES
				 ? "functions of the kernel in stacks have no names (%s)"
				 : "where the kernel's code is, is not known: what it executed is a gap (%s)",
			 ptl_error_text());
		status = lose_reports(code, 1, code->since, cause);
	} else if (status == 0) {
		status = send_images(code);
		if (status == 0)
			status = lose_unread(code);
	}
	elf_kernel_images_free(&code->images);
	return status;
}

/* ---- changes --------------------------------------------------------------------------------- */

static int add_descriptor(void *context, int fd)
{
	return record_wait_descriptor(context, fd);
}

static int listen_to_kernel(struct record_kernel_code *code, struct record_wait *wait)
{
	const pid_t everyone = -1;
	const struct record_sideband_targets targets = {.threads = &everyone, .count = 1, .kernel_code = true};
	char cause[400];
	int status = record_sideband_open(&targets, &code->sideband);

	if (status == 0)
		return record_sideband_descriptors(code->sideband, add_descriptor, wait);
	if (status != PTL_SYSTEM)
		return status;
	snprintf(cause, sizeof(cause), "changes of the kernel's code are not reported: %s", ptl_error_text());
	return lose_reports(code, 1, record_now(), cause);
}

static int take_symbol(struct record_kernel_code *code, const struct record_sideband_record *record)
{
	const struct ptl_symbol symbol = {
		.address = record->base, .size = record->size, .name = record->name, .type = 't'};
	struct ptl_image_event image = {.base = record->base, .size = record->size};
	struct record_fact gone = {.range = {.base = record->base, .size = record->size}};
	const uint64_t unread = code->unread;
	struct ptl_bytes symbols = {0};
	char name[600];
	int status;

	if (record->is_gone)
		return send(code, RECORD_FACT_IMAGE_UNMAP, &gone, record->time);
	snprintf(name, sizeof(name), "[%.512s]", record->name);
	image.file_name = name;
	status = encode_symbols(&symbol, 1, 0, &symbols);
	if (status == 0)
		status = send_image(code, &image, NULL, &symbols, record->time, false);
	common_bytes_free(&symbols);
	if (status < 0 || code->unread == unread || !code->core)
		return status;
	return lose_reports(code, 1, record->time, "code that the kernel made was gone before it was read");
}

static int take_kernel_report(struct record_kernel_code *code, const struct record_sideband_record *record)
{
	struct record_fact fact = {.range = {.base = record->base, .size = record->size, .code = record->code}};

	switch (record->kind) {
	case RECORD_SIDEBAND_SYMBOL:
		return record->size ? take_symbol(code, record) : 0;
	case RECORD_SIDEBAND_CODE:
		return record->size && code->wish == RECORD_KERNEL_CODE
			       ? send(code, RECORD_FACT_CODE, &fact, record->time)
			       : 0;
	case RECORD_SIDEBAND_LOST:
		return lose_reports(code, record->lost, record->time,
				    "the kernel had no room for its reports of changes of its code");
	default:
		return 0;
	}
}

int record_kernel_code_step(struct record_kernel_code *code, uint64_t until)
{
	const struct record_sideband_record *record;
	const bool last = until >= UINT64_MAX - RECORD_SIDEBAND_DELAY;
	int read, status = 0;

	if (record_background_done(&code->reading, last, &read))
		status = take_images(code, read);
	if (status < 0 || !code->sideband)
		return status;
	if (last)
		status = record_sideband_collect_losses(code->sideband);
	if (status == 0)
		status = record_sideband_collect(code->sideband);
	/* Changes follow the existing code. */
	while (status == 0 && !code->reading.works && (record = record_sideband_next(code->sideband, until)))
		status = take_kernel_report(code, record);
	return status;
}

uint64_t record_kernel_code_due(const struct record_kernel_code *code)
{
	const uint64_t first = code->sideband ? record_sideband_due(code->sideband) : UINT64_MAX;

	return first > UINT64_MAX - RECORD_SIDEBAND_DELAY ? UINT64_MAX : first + RECORD_SIDEBAND_DELAY;
}

/* ---- all ------------------------------------------------------------------------------------- */

int record_kernel_code_open(struct record_capture *capture, const char *root, enum record_kernel_wish wish,
			    struct record_wait *wait, struct record_kernel_code **code)
{
	struct record_kernel_code *opened = calloc(1, sizeof(*opened));
	int status;

	if (!opened)
		return common_fail_memory("code of the kernel", sizeof(*opened));
	opened->capture = capture;
	opened->root = root;
	opened->wish = wish;
	opened->since = record_now();
	status = listen_to_kernel(opened, wait);
	if (status == 0)
		status = send_process(opened, opened->since);
	/* --embed none needs no bytes. */
	if (status == 0 && wish == RECORD_KERNEL_CODE && capture->settings->embed != ELF_EMBED_NONE)
		status = open_files(opened, opened->since);
	if (status == 0 && wish == RECORD_KERNEL_NAMES)
		record_background_start(&opened->reading, read_images, opened);
	else if (status == 0)
		status = take_images(opened, read_images(opened));
	if (status < 0)
		record_kernel_code_close(opened);
	else
		*code = opened;
	return status;
}

void record_kernel_code_close(struct record_kernel_code *code)
{
	int status;

	if (!code)
		return;
	(void)record_background_done(&code->reading, true, &status);
	elf_kernel_images_free(&code->images);
	record_sideband_close(code->sideband);
	elf_kernel_file_close(code->core);
	elf_kernel_file_close(code->vmlinux);
	free(code);
}
