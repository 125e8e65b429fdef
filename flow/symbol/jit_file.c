/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the files of just-in-time compilers in a trace. */
#include "flow/symbol/jit_file.h"

#include <stdlib.h>

#define FILE_MAX_SIZE ((size_t)256 << 20)
#define TOTAL_MAX ((uint64_t)1 << 30)

static void add_file(struct flow_jit_files *files, const struct ptl_attachment *attachment)
{
	struct elf_symbol_source source = {.fd = -1};
	uint8_t *data;
	int status = files->bytes < TOTAL_MAX
			     ? ptl_blob_read(files->trace, attachment->hash, FILE_MAX_SIZE, &data, &source.size)
			     : PTL_NO_MEMORY;

	if (!status) {
		files->bytes += source.size;
		source.data = data;
		status = elf_jit_set_add(&files->names, attachment->name, &source, attachment->pid);
		free(data);
	}
	/* A recording may end while the file is being written, so a truncated file is normal. */
	files->unreadable += status < 0 && status != PTL_TRUNCATED;
}

const struct elf_jit_names *flow_jit_files_of(struct flow_jit_files *files, uint32_t pid)
{
	const size_t count = ptl_attachment_count(files->trace);
	const struct elf_jit_names *found;

	if (!count || common_hash_map_get(&files->processes_read, pid))
		return elf_jit_set_find(&files->names, pid);
	if (common_hash_map_put(&files->processes_read, pid, 1) < 0)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const struct ptl_attachment *attachment = ptl_attachment_at(files->trace, i);

		if (attachment->kind == PTL_ATTACHMENT_JIT && attachment->pid == pid)
			add_file(files, attachment);
	}
	found = elf_jit_set_find(&files->names, pid);
	files->replaced += found ? found->symbols.replaced : 0;
	return found;
}

void flow_jit_files_free(struct flow_jit_files *files)
{
	elf_jit_set_free(&files->names);
	common_hash_map_free(&files->processes_read);
}
